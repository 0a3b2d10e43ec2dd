// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace halocline::backend::cpu {

/// Threads that share the items of one batch at a time with the calling thread.
///
/// The caller never waits for a worker that has not taken an item: it executes the items that no worker has
/// taken. A team that joins at a barrier, as OpenMP's, waits for every member instead, and on a machine with
/// other work that is a time slice of the scheduler per batch: multiply + relinearize + rescale (N = 2^15,
/// two threads, two processors, one other busy process) took 84 ms that way, against 9 ms on one thread.
///
/// A process may fork between batches, and both go on using the pool: the child starts workers of its own.
///
/// Workers start with the first batch, poll for work for a while after a batch, and then sleep. One caller at
/// a time.
class worker_pool {
 public:
  /// @param threads  the caller included; 1 starts none
  explicit worker_pool(unsigned threads) : threads_(threads) {}
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }
  /// Workers that sleep at this moment.
  [[nodiscard]] unsigned sleeping() const noexcept { return sleeping_.load(); }

  /// Runs `body(i)` for all i < count, count < 2^32. `body` must not throw.
  /// @throws device_error when the system refuses a thread (first batch only).
  template <typename BodyT>
  void run(std::size_t count, const BodyT& body) {
    share(
        count, [](const void* f, std::size_t i) { (*static_cast<const BodyT*>(f))(i); }, &body);
  }

 private:
  using item_function = void (*)(const void* body, std::size_t i);

  void share(std::size_t count, item_function call, const void* body);
  void start();
  void forget_workers() noexcept;
  void work();
  bool take_item();
  bool wait_for_items();

  unsigned threads_;
  std::uint64_t owner_ = 0;  ///< process that started the workers
  std::vector<std::thread> workers_;

  // The batch. The fields before `ticket_` change only while no item is left to take.
  std::atomic<item_function> call_{nullptr};
  std::atomic<const void*> body_{nullptr};
  std::atomic<std::uint32_t> count_{0};
  /// Number of the batch in the upper half, items not yet taken in the lower: taking an item is a compare and
  /// swap that fails when a new batch has begun.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> finished_{0};

  std::atomic<bool> stopping_{false};
  std::atomic<unsigned> sleeping_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace halocline::backend::cpu
