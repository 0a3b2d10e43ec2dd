// SPDX-License-Identifier: Apache-2.0
#include "seal/memorymanager.h"

#include <sodium.h>

#include <atomic>
#include <mutex>
#include <new>

namespace seal {
namespace util {

/// Counts bytes; see `MemoryPoolHandle`.
class MemoryPool {
 public:
  explicit MemoryPool(bool clears) noexcept : clears_(clears) {}

  [[nodiscard]] bool clears() const noexcept { return clears_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  void add(std::size_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove(std::size_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> bytes_{0};
  bool clears_;
};

}  // namespace util

namespace {

constexpr std::align_val_t alignment{64};

/// The profile of the process.
struct current_profile {
  std::mutex mutex;
  std::unique_ptr<MMProf> profile = std::make_unique<MMProfGlobal>();
};

current_profile& current() {
  static auto* kept = new current_profile;  // outlives every static object of a program
  return *kept;
}

}  // namespace

MemoryPoolHandle MemoryPoolHandle::Global() {
  static const auto* pool = new MemoryPoolHandle(std::make_shared<util::MemoryPool>(false));
  return *pool;
}

MemoryPoolHandle MemoryPoolHandle::ThreadLocal() {
  thread_local const MemoryPoolHandle pool(std::make_shared<util::MemoryPool>(false));
  return pool;
}

MemoryPoolHandle MemoryPoolHandle::New(bool clear_on_destruction) {
  return MemoryPoolHandle(std::make_shared<util::MemoryPool>(clear_on_destruction));
}

std::size_t MemoryPoolHandle::alloc_byte_count() const noexcept { return pool_ ? pool_->bytes() : 0; }

void* MemoryPoolHandle::allocate(std::size_t bytes) const {
  if (!pool_) throw std::invalid_argument("MemoryPoolHandle: the pool is uninitialized; pass a valid handle");
  if (bytes > max_bytes) throw std::bad_alloc();
  void* data = ::operator new(bytes, alignment);
  pool_->add(bytes);
  return data;
}

void MemoryPoolHandle::deallocate(void* data, std::size_t bytes) const noexcept {
  if (pool_->clears()) sodium_memzero(data, bytes);
  ::operator delete(data, alignment);
  pool_->remove(bytes);
}

std::unique_ptr<MMProf> MemoryManager::SwitchProfile(std::unique_ptr<MMProf>&& mm_prof) {
  if (!mm_prof) throw std::invalid_argument("MemoryManager: expected a profile, got none");
  const std::lock_guard<std::mutex> lock(current().mutex);
  std::swap(current().profile, mm_prof);
  return std::move(mm_prof);
}

MemoryPoolHandle MemoryManager::of_profile(mm_prof_opt_t prof_opt) {
  const std::lock_guard<std::mutex> lock(current().mutex);
  return current().profile->get_pool(prof_opt);
}

}  // namespace seal
