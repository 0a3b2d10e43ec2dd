// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "halocline/core/process.hpp"

namespace halocline::memory {

/// How transfers of a file run beside the computation.
enum class io_engine : std::uint8_t {
  automatic,  ///< io_uring where library and kernel have it, else threads
  io_uring,   ///< one thread that keeps `depth` requests in the kernel's hands
  threads,    ///< four threads that block in pread and pwrite
};

/// One transfer between memory and a place in an open file.
struct io_request {
  int file = -1;
  bool write = false;         ///< memory to file; false: file to memory
  std::uint64_t offset = 0;   ///< in the file, bytes
  std::byte* data = nullptr;  ///< only read from when `write`
  std::size_t bytes = 0;
  std::uint64_t tag = 0;               ///< the caller's
  std::uint64_t* checksums = nullptr;  ///< the caller's: of the pages of `data`
};

/// The `error` of a read that met the end of the file, also where the file ends within a page. Other errors
/// are values of errno, 0 is none.
inline constexpr int io_end_of_file = -1;

/// Receives the completion of requests.
class io_listener {
 public:
  virtual ~io_listener() = default;
  /// `moved` bytes of the request were transferred, all of them when `error` is 0. Called from threads of the
  /// queue, several at a time; must take no longer than the transfer did and must not call the queue.
  virtual void ended(const io_request& request, std::size_t moved, int error) noexcept = 0;
};

/// Runs requests in the background. Requests are begun in the order of submission and end in any order. Short
/// transfers are continued. Safe to call from several threads.
class io_queue {
 public:
  /// Waits until every request has ended.
  virtual ~io_queue() = default;
  /// "io_uring" or "threads".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Takes requests, of any number, and returns at once. Their memory and file must stay until they ended.
  virtual void submit(std::span<const io_request> requests) = 0;
  /// Lets requests with this tag that have not begun yet overtake all others.
  virtual void prioritize(std::uint64_t tag) = 0;
  /// Begins no more requests, and waits until those under way have ended; false when that took longer. Direct
  /// I/O must not run while a process forks: the pages that it reads into may become the child's (open(2)).
  /// A forked child has no queue: it must neither use nor destroy its copy.
  [[nodiscard]] virtual bool pause(fork_deadline until) = 0;
  /// Ends a pause, also one that did not succeed.
  virtual void resume() = 0;
};

/// A queue that has up to `depth` (1 to 4096) requests under way at once; with threads: one per thread. The
/// listener must outlive it.
/// @throws invalid_argument for a depth out of range.
/// @throws io_error when `engine` is io_uring and the library was built without it, or the kernel or a
///   container's rules forbid it; or when no thread can be started.
[[nodiscard]] std::unique_ptr<io_queue> make_io_queue(io_listener& listener, io_engine engine,
                                                      unsigned depth);

/// Whether this build and this machine have io_uring.
[[nodiscard]] bool has_io_uring() noexcept;

}  // namespace halocline::memory
