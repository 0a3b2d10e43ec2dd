// SPDX-License-Identifier: Apache-2.0
#include "memory/residency/block_pool.hpp"

#include <algorithm>
#include <utility>

#include "halocline/memory/adaptor/caching_tier.hpp"
#include "memory/buffer_state.hpp"
#include "memory/device/lane_tier.hpp"

namespace halocline::memory {

block_pool::block_pool(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget)
    : place_(std::move(place)), budget_(std::move(budget)) {}

placing block_pool::place(buffer_state& state) {
  if (!budget_->take(state.bytes)) return placing::no_room;
  state.data = static_cast<std::byte*>(place_->allocate(state.bytes));
  if (state.data == nullptr) {
    budget_->give(state.bytes);
    return placing::refused_by_system;
  }
  if (keeps_within_budget()) return placing::done;
  place_->free(std::exchange(state.data, nullptr), state.bytes);
  place_->trim();
  budget_->give(state.bytes);
  return placing::over_budget;
}

/// Cached blocks, and what blocks have beyond what was asked for, are bytes of the tier too.
bool block_pool::keeps_within_budget() {
  // Asking for them takes calls of a driver, so not without a budget.
  if (budget_->capacity() == 0 || budget_->available() >= kept_bytes()) return true;
  place_->trim();
  // What is left then are ends of the pieces in which a driver hands out memory (32 MiB).
  return budget_->available() >= place_->slack_bytes();
}

void block_pool::free(buffer_state& state) noexcept {
  if (state.wipe) place_->wipe(state.data, state.bytes);
  place_->free(state.data, state.bytes);
  budget_->give(state.bytes);
}

void block_pool::forsake(buffer_state& state) noexcept {
  if (state.wipe && state.data != nullptr) place_->wipe_inherited(state.data, state.bytes);
}

std::size_t block_pool::budget_left(std::size_t live_bytes) const noexcept {
  const std::size_t capacity = budget_->capacity();
  if (capacity == 0) return 0;
  const std::size_t used = budget_->used();
  const std::size_t others = used - std::min(used, live_bytes);
  return std::max<std::size_t>(1, capacity - std::min(capacity, others));  // 0 would mean unlimited
}

std::unique_ptr<tier> make_block_tier(const runtime_options& options, const policy_traits& traits) {
  const bool caches = traits.reuse == block_reuse::smallest_fit;
  std::unique_ptr<tier> place;
  if (options.device) {
    place = std::make_unique<lane_tier>(options.device);
  } else {
    const bool is_limited = options.budget_bytes != 0;
    const std::size_t kept =
        is_limited ? std::min(options.cache_bytes, options.budget_bytes) : options.cache_bytes;
    place = make_host_tier(caches ? 0 : kept);
  }
  if (caches) place = std::make_unique<caching_tier>(std::move(place));
  return place;
}

}  // namespace halocline::memory
