// SPDX-License-Identifier: Apache-2.0
#include "memory/device/managed_blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/buffer_state.hpp"
#include "memory/step_use.hpp"

namespace halocline::memory {
namespace {

std::size_t cap_of(const runtime_options& options) {
  if (options.oversubscribe_managed) return 0;
  std::size_t cap =
      options.managed_cap_bytes != 0 ? options.managed_cap_bytes : options.device->free_bytes() / 2;
  const char* const lower = std::getenv("HALOCLINE_MANAGED_CAP");
  if (lower != nullptr && *lower != '\0') cap = std::min(cap, parse_bytes(lower));
  return std::max<std::size_t>(1, cap);
}

}  // namespace

managed_blocks::managed_blocks(const runtime_options& options, std::shared_ptr<memory_budget> budget,
                               movement& counters, std::recursive_mutex& mutex)
    : device_(options.device),
      budget_(std::move(budget)),
      counters_(counters),
      mutex_(mutex),
      keeps_(!options.managed_pool),
      cap_(cap_of(options)),
      place_(device_->make_managed_tier(options.managed_pool)) {
  budget_->join(*this);
}

managed_blocks::~managed_blocks() {
  budget_->leave(*this);
  trim();
}

// Blocks

void managed_blocks::allocate(buffer_state& state) {
  const std::size_t bytes = state.full_bytes();
  block* found = nullptr;
  if (const auto spare = spare_.find(bytes); spare != spare_.end()) {
    found = spare->second;
    spare_.erase(spare);
    if (found->resident) resident_.erase(found->number);
  } else {
    if (cap_ != 0 && bytes > cap_ - std::min(cap_, allocated_)) {
      trim();
      if (bytes > cap_ - std::min(cap_, allocated_)) throw_beyond_cap(state, bytes);
    }
    auto made = std::make_unique<block>();
    made->bytes = bytes;
    made->data = take_fresh(bytes);
    found = made.get();
    blocks_.emplace(found->data, std::move(made));
    allocated_ += bytes;
  }
  if (found->hint != state.hint) {
    device_->advise(found->data, bytes, found->hint, false);
    device_->advise(found->data, bytes, state.hint, true);
  }
  found->hint = state.hint;
  found->number = next_number_++;
  found->in_use = true;
  found->has_contents = found->changed = false;
  if (found->resident) resident_.emplace(found->number, found);
  state.data = found->data;
}

std::byte* managed_blocks::take_fresh(std::size_t bytes) {
  void* data = place_->allocate(bytes);
  if (data == nullptr) {
    trim();
    data = place_->allocate(bytes);
  }
  HALOCLINE_EXPECTS(data != nullptr, out_of_memory, "the driver has no ", format_bytes(bytes),
                    " of unified memory left; ", format_bytes(allocated_),
                    " are allocated. Use policy 'lru' or 'planned', which need none");
  return static_cast<std::byte*>(data);
}

void managed_blocks::throw_beyond_cap(const buffer_state& state, std::size_t bytes) const {
  throw out_of_memory(
      text("unified memory: ", format_bytes(bytes), " for ", state.tag, " would make ",
           format_bytes(allocated_ + bytes), "; the cap is ", format_bytes(cap_),
           " (half of what the device had free at the start, unless an option or HALOCLINE_MANAGED_CAP says "
           "otherwise). Use policy 'lru' or 'planned', or lift the cap with oversubscribe_managed "
           "(--oversubscribe-managed), which can hang a GPU"));
}

void managed_blocks::free(buffer_state& state) noexcept {
  const auto found = blocks_.find(std::exchange(state.data, nullptr));
  if (found == blocks_.end()) return;
  block& gone = *found->second;
  gone.in_use = false;
  if (keeps_) {
    try {
      spare_.emplace(gone.bytes, &gone);
      return;
    } catch (const std::exception&) {  // no memory for the entry: the block is freed instead
    }
  }
  release(gone);
}

/// Frees a block to the driver.
void managed_blocks::release(block& each) noexcept {
  if (each.resident) {
    resident_.erase(each.number);
    resident_bytes_ -= each.bytes;
    budget_->give(each.bytes);
  }
  allocated_ -= each.bytes;
  place_->free(each.data, each.bytes);
  blocks_.erase(each.data);
}

void managed_blocks::trim() noexcept {
  for (const auto& [bytes, each] : spare_) release(*each);
  spare_.clear();
  place_->trim();
}

std::size_t managed_blocks::spare_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [size, each] : spare_) bytes += each->resident ? size : 0;
  return bytes;
}

// Residence

void managed_blocks::touch(std::span<const step_use> uses) {
  ++step_;
  // Blocks that are resident first, so that no operand of this step is evicted.
  for (const step_use& use : uses) {
    if (use.state->where == placement::managed) blocks_.at(use.state->data)->step = step_;
  }
  for (const step_use& use : uses) {
    if (use.state->where != placement::managed) continue;
    block& each = *blocks_.at(use.state->data);
    if (!each.resident) {
      HALOCLINE_EXPECTS(room_for(each.bytes) && budget_->take(each.bytes), out_of_memory,
                        "no room on the device for ", use.state->tag, " of ", each.bytes, " bytes");
      bring(each);
    }
    if (!use.writes) continue;
    each.has_contents = each.changed = true;
  }
}

void managed_blocks::make_room(std::size_t bytes) {
  ++step_;  // the last step is over
  (void)room_for(bytes);
}

void managed_blocks::shrink_to(std::size_t bytes) {
  ++step_;
  while (budget_->used() > bytes && push_out_first()) {
  }
}

bool managed_blocks::room_for(std::size_t bytes) {
  for (std::size_t open = budget_->available(); open < bytes; open = budget_->available()) {
    if (budget_->reclaim_idle(*this, bytes - open) != 0 || push_out_first()) continue;
    if (budget_->reclaim(*this, bytes - open) == 0) return false;
  }
  return true;
}

std::size_t managed_blocks::reclaim(std::size_t bytes) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  const std::size_t before = resident_bytes_;
  try {
    while (before - resident_bytes_ < bytes && push_out_first()) {
    }
    // The other runtime's lane is not ordered behind this one's.
    if (before != resident_bytes_) device_->wait(lane::compute, device_->mark(lane::compute));
  } catch (const std::exception&) {  // the driver refused: blocks that were not evicted stay where they are
  }
  return before - resident_bytes_;
}

/// Moves a block, for which the budget has been charged, to the device.
void managed_blocks::bring(block& each) {
  try {
    if (each.hint == advice::read_mostly) device_->advise(each.data, each.bytes, each.hint, true);
    device_->prefetch(each.data, each.bytes, true);
    resident_.emplace(each.number, &each);
  } catch (...) {
    budget_->give(each.bytes);
    throw;
  }
  each.resident = true;
  each.changed = false;
  resident_bytes_ += each.bytes;
  if (!each.has_contents) return;
  ++counters_.loads;
  counters_.loaded_bytes += each.bytes;
}

bool managed_blocks::push_out_first() {
  // Blocks without a buffer go first; their bytes need not move, but only the driver could know that.
  for (const auto& [bytes, each] : spare_) {
    if (each->resident) return push_out(*each), true;
  }
  for (const auto& [number, each] : resident_) {
    if (each->step != step_) return push_out(*each), true;
  }
  return false;
}

void managed_blocks::push_out(block& each) {
  if (each.hint == advice::read_mostly) {
    // The device keeps its copy of such pages until the advice is taken back, which is not ordered on the
    // lane.
    device_->wait(lane::compute, device_->mark(lane::compute));
    device_->advise(each.data, each.bytes, each.hint, false);
  }
  device_->prefetch(each.data, each.bytes, false);
  const bool dropped = each.hint == advice::read_mostly && !each.changed;
  if (each.in_use && each.has_contents && !dropped) counters_.written_bytes += each.bytes;
  ++counters_.evictions;
  resident_.erase(each.number);
  each.resident = false;
  resident_bytes_ -= each.bytes;
  budget_->give(each.bytes);
}

}  // namespace halocline::memory
