// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <deque>
#include <memory>
#include <thread>

#include "halocline/memory/tier/io_queue.hpp"

namespace halocline::memory {

/// Requests that have not begun, in the order in which they will. Not thread-safe.
class waiting_requests {
 public:
  [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }
  void add(std::span<const io_request> requests);
  /// Moves requests with this tag to the front, their order kept.
  void prioritize(std::uint64_t tag);
  [[nodiscard]] io_request take() noexcept;

 private:
  std::deque<io_request> requests_;
};

/// Keeps signals away from the threads that are started while it lives: handlers belong to the program's
/// threads, and a write past a file size limit is an error here, not the end of the process.
class signals_blocked {
 public:
  signals_blocked() noexcept;
  ~signals_blocked();
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t old_;
};

/// Whether a failed system call would do if it were tried again.
[[nodiscard]] bool is_transient(int error) noexcept;

/// The error that a request ended with: direct I/O refuses (EINVAL) to go on where a file ends within a page,
/// and what is meant then is the end of the file.
[[nodiscard]] int true_error(const io_request& request, int error) noexcept;

/// The engine over pread and pwrite.
[[nodiscard]] std::unique_ptr<io_queue> make_thread_queue(io_listener& listener, unsigned depth);

/// The engine over io_uring; nullptr when it cannot be had, and `reason` says why then.
[[nodiscard]] std::unique_ptr<io_queue> make_uring_queue(io_listener& listener, unsigned depth,
                                                         const char*& reason);

}  // namespace halocline::memory
