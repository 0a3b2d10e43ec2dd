// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halocline/core/process.hpp"

namespace halocline::memory {

/// Somebody who holds bytes of a budget and can be asked to hand some back.
class budget_member {
 public:
  virtual ~budget_member() = default;
  /// Hands back up to `bytes` bytes that no step needs now; returns how many. Does nothing while the member
  /// is busy in another thread.
  virtual std::size_t reclaim(std::size_t bytes) noexcept = 0;

 private:
  friend class memory_budget;
  std::uint64_t last_need_ = 0;  ///< when it needed room last, by the budget's count
};

/// Bytes of the fast tier that one or several runtimes may use together. Thread-safe.
class memory_budget {
 public:
  /// @param bytes capacity; 0 means unlimited
  explicit memory_budget(std::size_t bytes) : capacity_(bytes) {}

  /// Takes bytes if they are free.
  [[nodiscard]] bool take(std::size_t bytes) noexcept;
  /// Hands bytes back.
  void give(std::size_t bytes) noexcept;
  /// Bytes that can still be taken; the largest number there is when the budget is unlimited.
  [[nodiscard]] std::size_t available() const noexcept;
  /// Bytes that may be taken in total; 0: unlimited.
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t used() const noexcept;
  /// Largest `used` so far.
  [[nodiscard]] std::size_t peak() const noexcept;
  /// Changes the capacity if it is not below what is used now; returns whether it did.
  [[nodiscard]] bool set_capacity(std::size_t bytes) noexcept;

  /// Members may be asked to hand bytes back; they leave before they die.
  void join(budget_member& member);
  void leave(budget_member& member) noexcept;
  /// Asks the members other than `asking` for bytes; returns how many they handed back.
  std::size_t reclaim(const budget_member& asking, std::size_t bytes) noexcept;
  /// The same of members that have not needed room while others did so `idle_needs` times. What they hold is
  /// likely to be older than anything that the asking member could evict itself.
  std::size_t reclaim_idle(budget_member& asking, std::size_t bytes) noexcept;

 private:
  static constexpr std::uint64_t idle_needs = 16;

  mutable fork_mutex mutex_{fork_order::budget};
  fork_mutex members_mutex_{fork_order::budget};
  std::vector<budget_member*> members_;
  std::uint64_t needs_ = 0;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace halocline::memory
