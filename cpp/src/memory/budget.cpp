// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/budget.hpp"

#include <algorithm>
#include <limits>
#include <mutex>

namespace halocline::memory {

bool memory_budget::take(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (capacity_ != 0 && bytes > capacity_ - std::min(capacity_, used_)) return false;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return true;
}

void memory_budget::give(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= std::min(used_, bytes);
}

std::size_t memory_budget::available() const noexcept {
  const std::lock_guard lock(mutex_);
  if (capacity_ == 0) return std::numeric_limits<std::size_t>::max();
  return capacity_ - std::min(capacity_, used_);
}

std::size_t memory_budget::capacity() const noexcept {
  const std::lock_guard lock(mutex_);
  return capacity_;
}

std::size_t memory_budget::used() const noexcept {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::size_t memory_budget::peak() const noexcept {
  const std::lock_guard lock(mutex_);
  return peak_;
}

bool memory_budget::set_capacity(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (bytes != 0 && used_ > bytes) return false;
  capacity_ = bytes;
  return true;
}

void memory_budget::join(budget_member& member) {
  const std::lock_guard lock(members_mutex_);
  members_.push_back(&member);
}

void memory_budget::leave(budget_member& member) noexcept {
  const std::lock_guard lock(members_mutex_);
  std::erase(members_, &member);
}

std::size_t memory_budget::reclaim(const budget_member& asking, std::size_t bytes) noexcept {
  // Two members that ask each other at once must not wait for each other: one of them goes without.
  const std::unique_lock lock(members_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  std::size_t got = 0;
  for (budget_member* each : members_) {
    if (got >= bytes) break;
    if (each != &asking) got += each->reclaim(bytes - got);
  }
  return got;
}

std::size_t memory_budget::reclaim_idle(budget_member& asking, std::size_t bytes) noexcept {
  const std::unique_lock lock(members_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  asking.last_need_ = ++needs_;
  std::size_t got = 0;
  for (budget_member* each : members_) {
    if (got >= bytes) break;
    if (each != &asking && needs_ - each->last_need_ > idle_needs) got += each->reclaim(bytes - got);
  }
  return got;
}

}  // namespace halocline::memory
