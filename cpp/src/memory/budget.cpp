// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/budget.hpp"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/process.hpp"

namespace halocline::memory {
namespace {

/// How long a thread sleeps before it repeats its request: others release frames that their steps no longer
/// need only on request.
constexpr auto wait_slice = std::chrono::milliseconds(20);

std::function<void()>& interruption() {
  static std::function<void()> check;
  return check;
}

}  // namespace

/// What all accounts share.
struct memory_budget::common {
  common(std::size_t bytes, std::chrono::milliseconds limit) : capacity(bytes), wait(limit) {}

  mutable fork_mutex mutex{fork_order::budget};
  std::condition_variable_any changed;  ///< bytes were released, or the capacity has changed
  fork_mutex members_mutex{fork_order::budget};
  std::vector<budget_member*> members;
  std::vector<const holding*> accounts;
  std::uint64_t needs = 0;
  std::size_t capacity;
  std::size_t used = 0;
  std::size_t peak = 0;
  const std::chrono::milliseconds wait;
  /// A forked child does not have the waiting threads.
  fork_hook hook{fork_order::budget,
                 {[](fork_deadline) { return true; }, [] {}, [this](bool) { renew_in_child(changed); }}};
};

memory_budget::memory_budget(std::size_t bytes, std::chrono::milliseconds wait)
    : memory_budget(std::make_shared<common>(bytes, wait), {}) {}

memory_budget::memory_budget(std::shared_ptr<common> all, std::string name)
    : all_(std::move(all)), mine_{std::move(name), 0, false} {
  const std::lock_guard lock(all_->mutex);
  all_->accounts.push_back(&mine_);
}

memory_budget::~memory_budget() {
  const std::lock_guard lock(all_->mutex);
  std::erase(all_->accounts, &mine_);
}

std::shared_ptr<memory_budget> memory_budget::open_account(std::string name) {
  return std::shared_ptr<memory_budget>(new memory_budget(all_, std::move(name)));
}

bool memory_budget::take(std::size_t bytes) noexcept {
  const std::lock_guard lock(all_->mutex);
  const std::size_t capacity = all_->capacity;
  if (capacity != 0 && bytes > capacity - std::min(capacity, all_->used)) return false;
  all_->used += bytes;
  mine_.bytes += bytes;
  all_->peak = std::max(all_->peak, all_->used);
  return true;
}

void memory_budget::give(std::size_t bytes) noexcept {
  if (bytes == 0) return;
  {
    const std::lock_guard lock(all_->mutex);
    all_->used -= std::min(all_->used, bytes);
    mine_.bytes -= std::min(mine_.bytes, bytes);
  }
  all_->changed.notify_all();
}

std::size_t memory_budget::available() const noexcept {
  const std::lock_guard lock(all_->mutex);
  if (all_->capacity == 0) return std::numeric_limits<std::size_t>::max();
  return all_->capacity - std::min(all_->capacity, all_->used);
}

std::size_t memory_budget::capacity() const noexcept {
  const std::lock_guard lock(all_->mutex);
  return all_->capacity;
}

std::size_t memory_budget::used() const noexcept {
  const std::lock_guard lock(all_->mutex);
  return all_->used;
}

std::size_t memory_budget::peak() const noexcept {
  const std::lock_guard lock(all_->mutex);
  return all_->peak;
}

bool memory_budget::set_capacity(std::size_t bytes) noexcept {
  {
    const std::lock_guard lock(all_->mutex);
    if (bytes != 0 && all_->used > bytes) return false;
    all_->capacity = bytes;
  }
  all_->changed.notify_all();
  return true;
}

std::size_t memory_budget::own() const noexcept {
  const std::lock_guard lock(all_->mutex);
  return mine_.bytes;
}

std::vector<memory_budget::holding> memory_budget::others() const {
  std::vector<holding> result;
  {
    const std::lock_guard lock(all_->mutex);
    for (const holding* each : all_->accounts) {
      if (each != &mine_ && each->bytes != 0) result.push_back(*each);
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const holding& a, const holding& b) { return a.bytes > b.bytes; });
  return result;
}

std::chrono::milliseconds memory_budget::wait_limit() const noexcept { return all_->wait; }

bool memory_budget::is_nearly_full() const noexcept {
  const std::lock_guard lock(all_->mutex);
  return all_->capacity != 0 && all_->used >= all_->capacity / 4 * 3;
}

void memory_budget::join(budget_member& member) {
  const std::lock_guard lock(all_->members_mutex);
  if (is_nearly_full()) {
    for (budget_member* each : all_->members) each->expect_reclaim();
  }
  all_->members.push_back(&member);
}

void memory_budget::leave(budget_member& member) noexcept {
  const std::lock_guard lock(all_->members_mutex);
  std::erase(all_->members, &member);
}

std::size_t memory_budget::reclaim(const budget_member* asking, std::size_t bytes) noexcept {
  // Two members that request bytes from each other must not deadlock: one of the requests fails.
  const std::unique_lock lock(all_->members_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  std::size_t got = 0;
  for (budget_member* each : all_->members) {
    if (got >= bytes) break;
    if (each != asking) got += each->reclaim(bytes - got);
  }
  return got;
}

template <typename IdleT>
std::size_t memory_budget::reclaim_of(budget_member& asking, std::size_t bytes,
                                      const IdleT& is_idle) noexcept {
  const std::unique_lock lock(all_->members_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  std::size_t got = 0;
  for (budget_member* each : all_->members) {
    if (got >= bytes) break;
    if (each != &asking && is_idle(*each)) got += each->reclaim(bytes - got);
  }
  return got;
}

std::size_t memory_budget::reclaim_idle(budget_member& asking, std::size_t bytes) noexcept {
  bool counted = false;  // one need, however many others there are
  return reclaim_of(asking, bytes, [&](const budget_member& each) {
    if (!std::exchange(counted, true)) asking.last_need_ = ++all_->needs;
    return all_->needs - each.last_need_ > idle_needs;
  });
}

std::size_t memory_budget::reclaim_resting(budget_member& asking, std::size_t bytes) noexcept {
  return reclaim_of(asking, bytes, [](const budget_member& each) { return each.is_resting(); });
}

void memory_budget::set_interruption(std::function<void()> check) { interruption() = std::move(check); }

// Waiting

budget_wait::budget_wait(memory_budget& budget) : budget_(budget) {}

budget_wait::~budget_wait() {
  if (!waited_) return;
  const std::lock_guard lock(budget_.all_->mutex);
  budget_.mine_.waits = false;
}

bool budget_wait::next(const budget_member* asking, std::size_t bytes) {
  const auto limit = budget_.wait_limit();
  const auto now = std::chrono::steady_clock::now();
  if (limit.count() == 0) return false;
  if (!waited_) begin_ = now;
  if (now - begin_ >= limit || budget_.used() <= budget_.own()) return false;
  waited_ = true;
  if (interruption()) interruption()();
  if (budget_.reclaim(asking, bytes) != 0) return true;
  std::unique_lock lock(budget_.all_->mutex);
  budget_.mine_.waits = true;
  budget_.all_->changed.wait_until(lock, std::min(now + wait_slice, begin_ + limit));
  return true;
}

std::string budget_wait::outcome() const {
  if (!waited_) return {};
  std::size_t waiting = 0;
  for (const memory_budget::holding& each : budget_.others()) waiting += each.waits ? 1 : 0;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return text("; waited ", std::max(0.1, static_cast<double>(static_cast<long>(seconds * 10)) / 10),
              " s for them", waiting == 0 ? std::string() : text(", ", waiting, " of them waited as well"));
}

}  // namespace halocline::memory
