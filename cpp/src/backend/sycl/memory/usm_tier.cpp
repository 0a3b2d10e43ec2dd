// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/memory/usm_tier.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "backend/sycl/runtime/sycl_runtime.hpp"

namespace halocline::backend::sycl {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

class usm_tier final : public memory::tier {
 public:
  usm_tier(std::shared_ptr<device_context> device, sycl_bridge::place kind)
      : device_(std::move(device)), kind_(kind) {}
  ~usm_tier() override { trim_to(0); }
  usm_tier(const usm_tier&) = delete;
  usm_tier& operator=(const usm_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override {
    return kind_ == sycl_bridge::place::shared ? "shared" : "device";
  }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    const auto kept = free_.find(bytes);
    if (kept != free_.end() && !kept->second.empty()) {
      void* const block = kept->second.back();
      kept->second.pop_back();
      cached_ -= bytes;
      return block;
    }
    void* made = fresh(bytes);
    if (made == nullptr && cached_ != 0) {
      trim_to(0);
      made = fresh(bytes);
    }
    return made;
  }
  void free(void* data, std::size_t bytes) noexcept override {
    try {
      free_[bytes].push_back(data);
      cached_ += bytes;
    } catch (const std::exception&) {  // no memory to keep it
      release({&data, 1});
    }
  }
  void wipe(void* data, std::size_t bytes) noexcept override {
    if (device_->usable()) (void)device_->use().fill(0, data, 0, bytes);
  }
  /// The memory of a forked child is its own only on a CPU, and SYCL does not say.
  void wipe_inherited(void*, std::size_t) noexcept override {}
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return cached_; }
  void trim() noexcept override { trim_to(0); }
  void trim_to(std::size_t bytes) noexcept override {
    if (cached_ <= bytes) return;
    for (auto& [size, blocks] : free_) {
      while (!blocks.empty() && cached_ > bytes) {
        release({&blocks.back(), 1});
        blocks.pop_back();
        cached_ -= size;
      }
    }
  }

 private:
  [[nodiscard]] void* fresh(std::size_t bytes) const {
    void* made = nullptr;
    check(device_->use().allocate(kind_, bytes, made), "allocate memory");
    return made;
  }
  /// Kernels that are under way may still use the blocks.
  void release(std::span<void* const> blocks) const noexcept {
    if (!device_->usable()) return;
    (void)device_->use().wait(0);
    for (void* const each : blocks) device_->use().release(each);
  }

  std::shared_ptr<device_context> device_;
  sycl_bridge::place kind_;
  std::map<std::size_t, std::vector<void*>> free_;
  std::size_t cached_ = 0;
};

/// Blocks until nothing is under way on any queue.
void wait_for_all(const device_context& device) noexcept {
  if (!device.usable()) return;
  for (unsigned queue = 0; queue < memory::lane_count; ++queue) (void)device.use().wait(queue);
}

/// Pages of the process, which kernels of a CPU use.
class process_range final : public memory::device_range {
 public:
  process_range(std::shared_ptr<device_context> device, std::size_t bytes)
      : device_(std::move(device)), reserved_(bytes + huge_page) {
    start_ = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HALOCLINE_EXPECTS(start_ != MAP_FAILED, device_error, "SYCL: cannot reserve ", bytes,
                      " bytes of addresses (", std::strerror(errno), ")");
    auto* const begin = static_cast<std::byte*>(start_);
    base_ = begin + (huge_page - reinterpret_cast<std::size_t>(begin) % huge_page) % huge_page;
    limit_ = bytes;
  }
  ~process_range() override {
    wait_for_all(*device_);
    munmap(start_, reserved_);
  }
  process_range(const process_range&) = delete;
  process_range& operator=(const process_range&) = delete;

  [[nodiscard]] std::byte* base() const noexcept override { return base_; }
  [[nodiscard]] bool grow(std::size_t bytes) override {
    if (bytes > limit_) return false;
    if (bytes > mapped_ && mprotect(base_, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    mapped_ = std::max(mapped_, bytes);
    return true;
  }
  std::size_t shrink(std::size_t bytes) noexcept override {
    wait_for_all(*device_);
    constexpr std::size_t page = 4096;
    bytes = (bytes + page - 1) / page * page;
    if (bytes < mapped_ && madvise(base_ + bytes, mapped_ - bytes, MADV_DONTNEED) == 0) mapped_ = bytes;
    return mapped_;
  }

 private:
  std::shared_ptr<device_context> device_;
  std::size_t reserved_;
  std::size_t limit_ = 0;
  std::size_t mapped_ = 0;
  void* start_ = nullptr;
  std::byte* base_ = nullptr;
};

/// One allocation of a device.
class allocated_range final : public memory::device_range {
 public:
  allocated_range(std::shared_ptr<device_context> device, std::size_t bytes) : device_(std::move(device)) {
    const sycl_bridge::device_facts& facts = device_->facts();
    limit_ = std::min<std::size_t>(bytes, std::min(facts.allocation_limit, facts.memory_bytes / 8 * 7));
    check(device_->use().allocate(sycl_bridge::place::device, limit_ + huge_page, data_), "allocate frames");
    HALOCLINE_EXPECTS(
        data_ != nullptr, device_error, "SYCL: ", facts.name, " has no ", limit_,
        " bytes in one piece for the frames of a policy that moves buffers; use a smaller budget");
    auto* const begin = static_cast<std::byte*>(data_);
    base_ = begin + (huge_page - reinterpret_cast<std::size_t>(begin) % huge_page) % huge_page;
  }
  ~allocated_range() override {
    wait_for_all(*device_);
    if (device_->usable()) device_->use().release(data_);
  }
  allocated_range(const allocated_range&) = delete;
  allocated_range& operator=(const allocated_range&) = delete;

  [[nodiscard]] std::byte* base() const noexcept override { return base_; }
  [[nodiscard]] bool grow(std::size_t bytes) override { return bytes <= limit_; }
  std::size_t shrink(std::size_t bytes) noexcept override { return bytes; }

 private:
  std::shared_ptr<device_context> device_;
  std::size_t limit_ = 0;
  void* data_ = nullptr;
  std::byte* base_ = nullptr;
};

}  // namespace

std::unique_ptr<memory::tier> make_usm_tier(std::shared_ptr<device_context> device, sycl_bridge::place kind) {
  return std::make_unique<usm_tier>(std::move(device), kind);
}

std::unique_ptr<memory::device_range> make_usm_range(std::shared_ptr<device_context> device,
                                                     std::size_t bytes) {
  if (device->facts().processor) return std::make_unique<process_range>(std::move(device), bytes);
  return std::make_unique<allocated_range>(std::move(device), bytes);
}

}  // namespace halocline::backend::sycl
