// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// Transfers of one link that block, each on a thread of its own: at most so many at a time, in the order in
/// which they were started; `wait` lets one overtake those that have not begun. Threads start with the first
/// transfers. Thread-safe.
class transfer_threads {
 public:
  /// @param most threads, which is the number of requests in flight; at least 1
  explicit transfer_threads(unsigned most) : most_(most) {}
  /// Waits for transfers under way; those that have not begun are dropped.
  ~transfer_threads();
  transfer_threads(const transfer_threads&) = delete;
  transfer_threads& operator=(const transfer_threads&) = delete;

  /// Starts `copy()`, which moves `bytes` bytes and may throw.
  /// @throws io_error when no thread can be started
  void start(transfer_id id, std::size_t bytes, std::function<void()> copy);
  [[nodiscard]] bool has_ended(transfer_id id) const;
  /// Blocks until the transfer has ended and releases its number.
  /// @throws what its copy threw
  void wait(transfer_id id);
  [[nodiscard]] unsigned most() const noexcept { return most_; }
  /// Adds reads, bytes and times so far.
  void report(link_stats& to) const;

 private:
  struct transfer {
    std::size_t bytes = 0;
    std::function<void()> copy{};
    bool has_ended = false;
    std::exception_ptr failure{};
    std::list<transfer_id>::iterator place{};  ///< among the waiting ones, until it begins
    bool waits = false;
  };

  void work();
  void begin(transfer_id id);
  void end(transfer_id id, std::uint64_t began, std::exception_ptr failure);

  unsigned most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< something waits, or it is over
  std::condition_variable ended_;
  std::unordered_map<transfer_id, transfer> transfers_;
  std::list<transfer_id> waiting_;
  link_stats sums_;
  unsigned under_way_ = 0;
  std::uint64_t busy_since_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace halocline::memory
