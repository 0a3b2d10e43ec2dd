// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/pager.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::memory {
namespace {

/// How often and how long a runtime waits for another one that shares its budget to end a step.
constexpr int share_attempts = 400;
constexpr auto share_pause = std::chrono::milliseconds(5);

}  // namespace

pager::pager(std::unique_ptr<transport> copies, std::shared_ptr<memory_budget> budget, eviction order,
             movement& counters, std::recursive_mutex& mutex)
    : frames_(copies->make_frames(std::move(budget), *this)),
      transport_(std::move(copies)),
      slow_(transport_->slow()),
      order_(order),
      counters_(counters),
      mutex_(mutex) {
  frames_->budget().join(*this);
}

pager::~pager() {
  frames_->budget().leave(*this);
  end_orphans();
}

// Steps

void pager::touch(const step_use& use, bool whole) {
  buffer_state& state = *use.state;
  if (state.regenerating) return;
  if (state.moving == motion::storing) finish_save(state);
  if (state.moving == motion::loading) {
    finish_load(state);
    ++counters_.prefetches;
  }
  // A prefix that no longer does is clean: only whole buffers are ever written.
  if (state.resident() && state.frame_bytes < bytes_needed(use, whole)) {
    if (use.reads && grow(state, bytes_needed(use, whole), true)) {
      finish_load(state);
    } else {
      release_frame(state);
    }
  }
  while (!state.resident()) bring(use, whole);
  used_now(state);
  if (use.writes) {
    state.has_contents = true;
    state.home_valid = false;
    state.from_recipe = false;
    state.lost.reset();
  }
}

void pager::begin_reads(std::span<const step_use> uses, bool whole) {
  for (const step_use& use : uses) {
    buffer_state& state = *use.state;
    const bool is_far = state.home_valid && slow_.is_renewable(state.slot);
    if (!is_far || state.resident() || !use.reads || state.moving != motion::none) continue;
    const std::size_t bytes = bytes_needed(use, whole);
    std::byte* const frame = take_frame(bytes, lane::load, state.cls, true);
    if (frame == nullptr) return;  // `touch` says what is missing
    attach(state, frame, bytes);
    start_read(state);
  }
}

std::size_t pager::bytes_needed(const step_use& use, bool whole) noexcept {
  const buffer_state& state = *use.state;
  // What has no copy on the slow tier gets a full frame, because frames are copied there as a whole.
  if (whole || use.writes || state.needs_saving()) return state.full_bytes();
  return (use.extent + 4095) / 4096 * 4096;
}

/// Gives a buffer a frame with what a step needs. Without a frame afterwards its copy on the slow tier was
/// found to be wrong, which is known now.
void pager::bring(const step_use& use, bool whole) {
  buffer_state& state = *use.state;
  const bool needs_contents = use.reads || !use.covers;
  if (state.lost && needs_contents) throw corrupt_data(*state.lost);
  const std::size_t need = bytes_needed(use, whole);
  const bool comes = state.has_contents && needs_contents;
  const lane user = comes && state.home_valid ? lane::load : lane::compute;
  std::byte* const frame = take_frame(need, user, state.cls, true);
  HALOCLINE_EXPECTS(frame != nullptr, out_of_memory, "no frame of ", need, " bytes for ", state.tag);
  attach(state, frame, need);
  if (comes) fill(state);
}

void pager::forget(buffer_state& state) noexcept {
  stop_ahead(state);
  fence behind{};
  if (state.moving != motion::none) {
    if (state.moving == motion::storing) std::erase(leaving_, &state);
    state.moving = motion::none;
    const std::optional<fence> gone = transport_->let_go(state.transfer);
    if (!gone) {  // the transfer goes on without the buffer
      if (state.listed) unlist(state);
      orphans_.push_back({std::exchange(state.data, nullptr), std::exchange(state.frame_bytes, 0),
                          std::exchange(state.slot, no_slot), state.transfer});
      return;
    }
    behind = *gone;
  }
  if (state.resident()) release_frame(state, behind);
  if (state.slot != no_slot) slow_.free(std::exchange(state.slot, no_slot));
}

bool pager::reap_orphans(bool wait) noexcept {
  bool any = false;
  std::erase_if(orphans_, [&](const orphan& each) {
    if (!slow_.poll(each.transfer) && (!wait || any)) return false;
    any = true;
    try {
      slow_.wait(each.transfer);
    } catch (const std::exception&) {  // the bytes are no longer needed
    }
    frames_->give(each.frame, each.frame_bytes, {});
    if (each.slot != no_slot) slow_.free(each.slot);
    return true;
  });
  return any;
}

void pager::end_orphans() noexcept {
  while (reap_orphans(true)) {
  }
}

// Frames

std::byte* pager::find_frame(std::size_t bytes, lane user, object_class cls) {
  if (loose_ != 0) make_loose(bytes);
  std::byte* frame = frames_->take(bytes, user, cls);
  while (frame == nullptr && is_crammed(bytes) && evict_one(false)) frame = frames_->take(bytes, user, cls);
  if (frame == nullptr && frames_->has_room(bytes)) {
    end_arrived_loads();
    if (frames_->compact(bytes)) {
      transport_->compute_went_on();
      frame = frames_->take(bytes, user, cls);
    }
  }
  if (frame != nullptr) peak_ = std::max(peak_, frames_->held_bytes());
  return frame;
}

std::byte* pager::take_frame(std::size_t bytes, lane user, object_class cls, bool may_evict_planned) {
  for (;;) {
    if (std::byte* const frame = find_frame(bytes, user, cls)) return frame;
    if (reap(may_evict_planned)) continue;
    resting_ = false;  // who needs room computes, with or without a plan
    if (frames_->budget().reclaim_idle(*this, bytes) != 0) continue;
    if (evict_one(false)) continue;
    // What others keep for their next plan before what this one needs now.
    if (frames_->budget().reclaim_resting(*this, bytes) != 0) continue;
    if (may_evict_planned && evict_one(true)) continue;
    if (may_evict_planned && frames_->has_room(bytes) && settle_loads()) continue;
    return may_evict_planned ? take_shared_frame(bytes, user, cls) : nullptr;
  }
}

std::byte* pager::take_shared_frame(std::size_t bytes, lane user, object_class cls) {
  // With patience of its own the step waits as a whole, without the lock under which this runs.
  const int attempts = frames_->budget().wait_limit().count() != 0 ? 1 : share_attempts;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    // Without others, or when they hold nothing, waiting does not help.
    if (frames_->budget().used() <= frames_->budget().own()) return nullptr;
    if (frames_->budget().reclaim(*this, bytes) == 0 && attempts != 1)
      std::this_thread::sleep_for(share_pause);
    if (std::byte* const frame = find_frame(bytes, user, cls)) return frame;
  }
  return nullptr;
}

/// Whether there is room, but so little beyond `bytes` bytes that half of the frames would have to move.
bool pager::is_crammed(std::size_t bytes) const noexcept {
  const std::size_t capacity = frames_->budget().capacity();
  return frames_->moves_together() && capacity != 0 && frames_->has_room(bytes) &&
         !frames_->has_room(bytes + capacity / loose_part);
}

/// Completes finished loads, because frames cannot move before that.
void pager::end_arrived_loads() {
  std::vector<buffer_state*> arrived;
  for (const auto& [frame, state] : users_) {
    if (state->moving == motion::loading && slow_.poll(state->transfer)) arrived.push_back(state);
  }
  for (buffer_state* each : arrived) {
    ++counters_.prefetches;
    finish_load(*each);
  }
}

/// Ends loads under way, because frames cannot move before that. False: there are none.
bool pager::settle_loads() {
  std::vector<buffer_state*> loading;
  for (const auto& [frame, state] : users_) {
    if (state->moving == motion::loading) loading.push_back(state);
  }
  for (buffer_state* each : loading) finish_load(*each);
  return !loading.empty();
}

bool pager::may_move(std::byte* frame) noexcept {
  const auto found = users_.find(frame);
  return found != users_.end() && found->second->held == 0 && found->second->moving == motion::none;
}

void pager::moved(std::byte* from, std::byte* to) noexcept {
  auto node = users_.extract(from);
  node.key() = to;
  node.mapped()->data = to;
  users_.insert(std::move(node));
}

bool pager::evict_one(bool may_evict_planned) {
  std::exception_ptr failure;
  for (std::size_t rank = 0; rank < (may_evict_planned ? 3U : 2U); ++rank) {
    // What was brought ahead for others goes before what the plan counts on.
    if (rank == 2 && evict_loading(rank)) return true;
    for (buffer_state* each : order_lists_[rank]) {
      if (each->pins != 0 || each->moving != motion::none) continue;
      fence behind{};
      try {
        behind = save(*each);
      } catch (const io_error&) {  // the slow tier is full or failed: evict a clean frame instead
        failure = std::current_exception();
        continue;
      }
      transport_->before_eviction();
      release_frame(*each, behind);
      ++counters_.evictions;
      return true;
    }
  }
  if (may_evict_planned && evict_loading(order_lists_.size())) return true;
  if (failure && may_evict_planned) std::rethrow_exception(failure);
  return false;
}

bool pager::evict_spare() {
  for (buffer_state* each : order_lists_[0]) {
    if (each->pins != 0 || each->moving != motion::none || each->needs_saving()) continue;
    transport_->before_eviction();
    release_frame(*each);
    ++counters_.evictions;
    return true;
  }
  return false;
}

/// Frames of clean buffers that no plan counts on go until a new one leaves `loose_` bytes free.
void pager::make_loose(std::size_t bytes) {
  while (!frames_->has_room(bytes + loose_) && frames_->budget().reclaim_idle(*this, bytes + loose_) != 0) {
  }
  while (!frames_->has_room(bytes + loose_)) {
    buffer_state* next = order_lists_[0].next_unseen();
    if (next == nullptr) next = order_lists_[1].next_unseen();
    if (next == nullptr) return;
    if (next->pins != 0 || next->moving != motion::none || next->needs_saving()) continue;
    release_frame(*next);
    ++counters_.evictions;
  }
}

bool pager::evict_loading(std::size_t ranks) {
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (buffer_state* each : order_lists_[rank]) {
      if (each->pins != 0 || each->moving != motion::loading) continue;
      if (const std::optional<fence> behind = transport_->let_go(each->transfer)) {
        each->moving = motion::none;
        release_frame(*each, *behind);
      } else {
        try {
          finish_load(*each);
          if (each->resident()) release_frame(*each);
        } catch (const io_error&) {  // the frame is gone all the same, and the load will be tried again
        }
      }
      ++counters_.evictions;
      return true;
    }
  }
  return false;
}

bool pager::grow(buffer_state& state, std::size_t bytes, bool may_evict_planned) {
  if (!state.home_valid) return false;
  const std::size_t old = state.frame_bytes;
  ++state.pins;  // growing may evict others
  std::byte* data = frames_->resize(state.data, old, bytes);
  while (data == nullptr && !frames_->has_room(bytes - old) &&
         (reap(may_evict_planned) || evict_one(may_evict_planned))) {
    data = frames_->resize(state.data, old, bytes);
  }
  --state.pins;
  if (data == nullptr) return false;
  state.data = data;
  state.frame_bytes = bytes;
  peak_ = std::max(peak_, frames_->held_bytes());
  try {
    state.transfer = slow_.read_from(state.slot, old, data + old, bytes - old);
  } catch (...) {
    release_frame(state);
    throw;
  }
  state.moving = motion::loading;
  ++counters_.loads;
  counters_.loaded_bytes += bytes - old;
  return true;
}

void pager::attach(buffer_state& state, std::byte* frame, std::size_t bytes) {
  state.data = frame;
  state.frame_bytes = bytes;
  if (frames_->moves_together()) users_[frame] = &state;
  if (state.where != placement::pool) enlist(state);
}

void pager::release_frame(buffer_state& state, const fence& behind) noexcept {
  if (state.listed) unlist(state);
  if (state.wipe) transport_->wipe(state.data, state.frame_bytes);
  if (frames_->moves_together()) users_.erase(state.data);
  frames_->give(std::exchange(state.data, nullptr), std::exchange(state.frame_bytes, 0), behind);
}

turn_list& pager::list_of(const buffer_state& state) noexcept {
  if (state.planned_here || state.hint == advice::preferred_device) return order_lists_[2];
  return order_lists_[state.spare ? 0 : 1];
}

void pager::enlist(buffer_state& state) {
  state.order = list_of(state).append(state);
  state.listed = true;
}

void pager::unlist(buffer_state& state) noexcept {
  list_of(state).erase(state.order);
  state.listed = false;
}

void pager::used_now(buffer_state& state) {
  set_spare(state, false);
  if (!state.listed || order_ == eviction::least_recent_migration) return;
  list_of(state).to_end(state.order);
}

void pager::set_planned(buffer_state& state, bool planned) {
  if (state.planned_here == planned) return;
  const bool listed = state.listed;
  if (listed) unlist(state);
  state.planned_here = planned;
  if (planned) state.spare = false;
  if (listed) enlist(state);
}

void pager::set_spare(buffer_state& state, bool spare) {
  if (state.spare == spare) return;
  const bool listed = state.listed;
  if (listed) unlist(state);
  state.spare = spare;
  if (listed) enlist(state);
}

}  // namespace halocline::memory
