// SPDX-License-Identifier: Apache-2.0
#include "memory/residency/unified.hpp"

#include <algorithm>

#include "halocline/core/error.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {

unified_residency::unified_residency(const residency_parts& parts)
    : pool_(make_block_tier(parts.options, parts.traits), parts.budget),
      blocks_(parts.options, parts.budget, parts.moved, parts.mutex) {}

placing unified_residency::place(buffer_state& state) {
  placing ended = placing::done;
  if (state.where == placement::managed) {
    blocks_.allocate(state);
  } else {
    ended = place_in_pool(state);
  }
  note_peak();
  return ended;
}

placing unified_residency::place_in_pool(buffer_state& state) {
  blocks_.make_room(state.bytes);
  const placing ended = pool_.place(state);
  if (ended == placing::done) pool_bytes_ += state.bytes;
  return ended;
}

void unified_residency::free(buffer_state& state) noexcept {
  if (state.where == placement::managed) return blocks_.free(state);
  pool_bytes_ -= state.bytes;
  pool_.free(state);
}

void unified_residency::forsake(buffer_state& state) noexcept {
  if (state.where != placement::managed) pool_.forsake(state);
}

placing unified_residency::bring(std::span<const step_use> uses, std::string_view, std::size_t,
                                 std::unique_ptr<pinned_step>&) {
  try {
    blocks_.touch(uses);
  } catch (const out_of_memory&) {
    return placing::no_room;
  }
  note_peak();
  return placing::done;
}

void unified_residency::set_budget(std::size_t bytes) {
  if (bytes != 0) blocks_.shrink_to(bytes);
  pool_.trim();
}

void unified_residency::trim() noexcept {
  blocks_.trim();
  pool_.trim();
}

void unified_residency::report(stats& counters) {
  counters.cached_bytes = pool_.cached_bytes() + blocks_.spare_bytes();
  counters.fast_bytes = pool_bytes_ + pool_.kept_bytes() + blocks_.resident_bytes();
  counters.peak_fast_bytes = peak_bytes_;
}

void unified_residency::note_peak() noexcept {
  peak_bytes_ = std::max(peak_bytes_, pool_bytes_ + blocks_.resident_bytes());
}

void unified_residency::reset_peak() noexcept {
  peak_bytes_ = 0;
  note_peak();
}

}  // namespace halocline::memory
