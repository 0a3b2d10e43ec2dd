// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

#include "halocline/core/process.hpp"

namespace halocline::memory {

/// The recursive mutex of a runtime, with a record of the processes in which the runtime can be used.
///
/// A forked child has a copy of the parent's memory, and host memory that holds everything is as good there.
/// It has no threads and no rings of its own behind a slow tier's file, which belongs to the parent, and no
/// driver behind a device. It has a half-changed runtime when another thread was at work at the fork.
class process_mutex {
 public:
  process_mutex();
  process_mutex(const process_mutex&) = delete;
  process_mutex& operator=(const process_mutex&) = delete;

  /// Says that forked children cannot use the runtime: `why` is a part of a sentence, a string literal.
  void stay_here(const char* why) noexcept { why_ = why; }
  /// Says, in a forked child, that another thread was using the runtime at the fork.
  void abandon() noexcept { lost_ = true; }
  /// Whether this process must leave the runtime alone: its bytes, its tiers, its device.
  [[nodiscard]] bool is_foreign() const noexcept;
  /// The same when what it keeps in host memory must be left alone too.
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

  /// @throws device_error when this process must leave the runtime alone
  void lock();
  void unlock() { mutex_.unlock(); }
  /// The mutex alone.
  [[nodiscard]] std::recursive_mutex& plain() noexcept { return mutex_; }

 private:
  std::recursive_mutex mutex_;
  std::uint64_t process_;
  const char* why_ = nullptr;
  bool lost_ = false;
  fork_hook hook_;
};

}  // namespace halocline::memory
