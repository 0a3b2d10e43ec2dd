// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/worker_pool.hpp"

#include <chrono>
#include <memory>
#include <system_error>

#include "halocline/core/expects.hpp"
#include "halocline/core/process.hpp"

namespace halocline::backend::cpu {
namespace {

/// How long a worker without work polls before it sleeps: longer than the pauses between the batches of one
/// operation on ciphertexts, short enough not to take time from other processes.
constexpr std::chrono::microseconds patience{200};
/// Checks between two readings of the clock.
constexpr int checks = 64;

constexpr std::uint64_t items_mask = 0xffffffffU;

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

worker_pool::~worker_pool() {
  if (workers_.empty()) return;
  if (owner_ != process_generation()) {
    forget_workers();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
}

/// In a forked child, which has copies of the handles and not the threads. Other threads of the child may
/// have the same identifiers by now, so handles are neither joined nor detached; and to destroy a condition
/// variable is to wait for the threads that its state counts.
void worker_pool::forget_workers() noexcept {
  for (std::thread& each : workers_) std::construct_at(&each);
  workers_.clear();
  renew_in_child(mutex_);
  renew_in_child(wake_);
  sleeping_ = 0;
}

void worker_pool::start() {
  owner_ = process_generation();
  try {
    for (unsigned i = 1; i < threads_; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& failure) {
    throw device_error(text("CPU backend: cannot start worker ", workers_.size() + 1, " of ", threads_ - 1,
                            " (", failure.what(), "); use fewer threads"));
  }
}

void worker_pool::share(std::size_t count, item_function call, const void* body) {
  if (!workers_.empty() && owner_ != process_generation()) forget_workers();
  if (workers_.empty() && threads_ > 1) start();
  if (threads_ <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) call(body, i);
    return;
  }
  const auto items = static_cast<std::uint32_t>(count);
  call_.store(call, std::memory_order_relaxed);
  body_.store(body, std::memory_order_relaxed);
  count_.store(items, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const std::uint64_t batch = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(batch << 32 | items);
  if (sleeping_.load() != 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  while (take_item()) {
  }
  for (int spins = 0; finished_.load(std::memory_order_acquire) != items; ++spins) {
    if (spins < 1 << 12) {
      pause_processor();
    } else {
      std::this_thread::yield();  // the worker may need this processor to get on
    }
  }
}

/// Runs one item of the current batch; false when none is left to take.
bool worker_pool::take_item() {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while ((ticket & items_mask) != 0) {
    // While items are left the batch is not over, so these belong to it, if the exchange succeeds.
    const item_function call = call_.load(std::memory_order_relaxed);
    const void* const body = body_.load(std::memory_order_relaxed);
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    if (ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) {
      call(body, count - static_cast<std::uint32_t>(ticket & items_mask));
      finished_.fetch_add(1, std::memory_order_release);
      return true;
    }
  }
  return false;
}

/// Waits until there are items, first awake, then asleep; false when the pool ends.
bool worker_pool::wait_for_items() {
  const auto some = [this] { return (ticket_.load() & items_mask) != 0; };
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < checks; ++i) {
      if (some()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() - begin < patience && !stopping_.load(std::memory_order_relaxed));
  std::unique_lock lock(mutex_);
  sleeping_.fetch_add(1);
  wake_.wait(lock, [&] { return stopping_.load() || some(); });
  sleeping_.fetch_sub(1);
  return !stopping_.load();
}

void worker_pool::work() {
  while (wait_for_items()) {
    while (take_item()) {
    }
  }
}

}  // namespace halocline::backend::cpu
