// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "halocline/memory/tier/io_queue.hpp"
#include "halocline/memory/tier/store.hpp"
#include "memory/tier/page_checksums.hpp"

namespace halocline::memory {

/// The `error` of a read whose bytes are not those that were written.
inline constexpr int wrong_bytes = -2;

/// Where the threads of an I/O queue note which requests have ended, and a store looks which of its transfers
/// have: a transfer is a number of requests that carry its id as their tag. These threads also note the
/// checksums of what was written, and compare those of what was read, beside the computation. Thread-safe.
class transfer_board final : public io_listener {
 public:
  /// How a transfer ended: bytes moved, and the first error or 0.
  struct outcome {
    std::size_t moved = 0;
    int error = 0;
    std::uint64_t at = 0;  ///< where in the file the error is
  };

  /// A transfer of `requests` requests is about to be submitted.
  void begin(transfer_id id, bool write, std::size_t requests);
  /// It was not submitted after all, or not even begun.
  void cancel(transfer_id id) noexcept;
  [[nodiscard]] bool has_ended(transfer_id id) const;
  /// Blocks until it has ended, and removes it.
  [[nodiscard]] outcome wait(transfer_id id);
  /// Nanoseconds so far during which at least one transfer of this direction was under way.
  [[nodiscard]] std::uint64_t busy_ns(bool write) const;

  void ended(const io_request& request, std::size_t moved, int error) noexcept override;

 private:
  struct progress {
    bool write = false;
    std::size_t requests_left = 0;
    outcome so_far;
  };
  /// Transfers under way in one direction.
  struct traffic {
    std::size_t transfers = 0;
    std::uint64_t since_ns = 0;  // when the first of them began
    std::uint64_t busy_ns = 0;   // before that
  };

  void leave(bool write) noexcept;
  [[nodiscard]] outcome look_at(const io_request& request, std::size_t moved, int error) const noexcept;

  page_checksums checksums_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_map<transfer_id, progress> transfers_;
  std::array<traffic, 2> traffic_;
};

}  // namespace halocline::memory
