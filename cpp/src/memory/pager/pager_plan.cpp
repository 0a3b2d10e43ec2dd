// SPDX-License-Identifier: Apache-2.0
// Directives of plans, and changes of the budget.
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "halocline/core/expects.hpp"
#include "memory/pager/pager.hpp"

namespace halocline::memory {
namespace {

/// Bytes that are loaded ahead of their need at once: what the program needs now waits behind them, some
/// 1.2 ms on a link of PCI Express 5.
constexpr std::size_t most_ahead = std::size_t{64} << 20;
/// Frames in use move together for others when at least this part of them is evicted. On one H200 seven
/// engines that take 6 GB from each other in turn spent a third of their time in moves when each frame was
/// trimmed by itself.
constexpr std::size_t worth_moving = 4;
/// Bytes that the slow tier gets ready for in advance: what is not requested after all is lost for others.
constexpr std::size_t most_prepared = std::size_t{8} << 30;

}  // namespace

// Plans

bool pager::start_load(buffer_state& state, std::size_t bytes) {
  bytes = std::min(bytes, state.full_bytes());
  if (state.moving == motion::storing) finish_save(state);
  if (state.moving == motion::loading && state.frame_bytes < bytes) finish_load(state);
  const bool here = state.resident() && state.frame_bytes >= bytes;
  if (here || state.pins != 0 || state.moving != motion::none || !state.has_contents) {
    set_planned(state, state.resident());
    return true;
  }
  if (!state.home_valid) return regenerate(state, bytes);
  if (state.resident()) {
    set_planned(state, true);
    if (grow(state, bytes, false)) return true;
    if (!frames_->has_room(bytes - state.frame_bytes)) return false;
    release_frame(state);  // the tier cannot extend it: all of it is loaded again
  }
  std::byte* const frame = take_frame(bytes, lane::load, state.cls, false);
  if (frame == nullptr) return false;
  attach(state, frame, bytes);
  set_planned(state, true);
  start_read(state);
  return true;
}

bool pager::regenerate(buffer_state& state, std::size_t bytes) {
  // A plan may request any number of pages, but only whole limbs can be regenerated.
  const std::size_t unit = state.source == nullptr ? 1 : state.source->unit_bytes();
  const std::size_t asked = std::min((bytes + unit - 1) / unit * unit, state.full_bytes());
  bytes = state.needs_saving() ? state.full_bytes() : asked;
  if (state.moving == motion::storing) finish_save(state);
  const bool here = state.resident() && state.frame_bytes >= bytes;
  if (here || state.pins != 0 || state.moving != motion::none || !state.has_contents) {
    set_planned(state, state.resident());
    return true;
  }
  // Objects that are regenerated only when their copy is lost, such as tables, are made as a whole: a frame
  // for a prefix, which a plan may request, would be too small.
  const bool is_made = state.source != nullptr && state.source->kind() != recovery::copy;
  if (!is_made && state.home_valid) return start_load(state, bytes);
  if (state.resident()) release_frame(state);
  std::byte* const frame = take_frame(bytes, lane::compute, state.cls, false);
  if (frame == nullptr) return false;
  attach(state, frame, bytes);
  set_planned(state, true);
  try {
    run_recipe(state);
  } catch (const out_of_memory&) {  // without a copy on the slow tier, the step that needs it must evict
                                    // others
    return false;
  }
  return true;
}

void pager::shrink(buffer_state& state, std::size_t bytes) {
  if (!state.resident() || state.pins != 0 || state.moving == motion::storing || state.needs_saving()) return;
  if (state.moving == motion::loading) finish_load(state);
  if (!state.resident() || bytes == 0 || state.frame_bytes <= bytes) return;
  if (std::byte* const data = frames_->resize(state.data, state.frame_bytes, bytes)) {
    state.data = data;
    state.frame_bytes = bytes;
  }
}

bool pager::leave(buffer_state& state) {
  if (!state.resident() || state.pins != 0 || state.moving == motion::storing) return false;
  fence behind{};
  if (state.moving == motion::loading) {
    if (const std::optional<fence> gone = transport_->let_go(state.transfer)) {
      state.moving = motion::none;
      behind = *gone;
    } else {
      finish_load(state);
    }
  }
  if (state.where == placement::pool) return false;
  set_planned(state, false);
  if (!state.resident()) return false;
  if (state.needs_saving()) return true;
  release_frame(state, behind);
  ++counters_.evictions;
  return false;
}

void pager::leave_fast(buffer_state& state, bool copies) {
  stop_ahead(state);
  if (state.moving == motion::storing) finish_save(state);
  write_back(state);
  while (state.moving == motion::storing && reap(true)) {
  }
  if (copies && !state.resident() && state.slot != no_slot) slow_.forget_copies(state.slot);
}

bool pager::may_come(const buffer_state& state) noexcept {
  return !state.resident() && state.moving == motion::none && state.home_valid;
}

fetched pager::fetch(buffer_state& state) {
  if (!may_come(state)) return fetched::done;
  const std::size_t bytes = state.full_bytes();
  const bool is_idle = transport_->is_link_idle();
  if (is_idle) ahead_bytes_ = 0;
  if (!is_idle && (ahead_bytes_ == 0 || ahead_bytes_ + bytes > most_ahead)) return fetched::later;
  const std::size_t left_free = frames_->budget().capacity() / loose_part;
  std::byte* frame = nullptr;
  while (frame == nullptr) {
    if (frames_->has_room(bytes + left_free)) frame = find_frame(bytes, lane::load, state.cls);
    if (frame == nullptr && !evict_spare()) return fetched::near;
  }
  ahead_bytes_ += bytes;
  attach(state, frame, bytes);
  start_read(state);
  return fetched::done;
}

fetched pager::bring_ahead(buffer_state& state) {
  if (state.ahead) return go_on_ahead();
  set_spare(state, false);
  if (!may_come(state)) return fetched::done;
  slow_.fetch(state.slot, state.full_bytes());  // all of them are on their way before the first one is here
  ahead_.push_back(&state);
  state.ahead = true;
  return go_on_ahead();
}

fetched pager::go_on_ahead() {
  while (!ahead_.empty()) {
    buffer_state& next = *ahead_.front();
    try {
      const fetched found = fetch(next);
      if (found != fetched::done) return found;
    } catch (const std::exception&) {  // the step that needs it says so
    }
    next.ahead = false;
    ahead_.pop_front();
  }
  return fetched::done;
}

void pager::stop_ahead(buffer_state& state) noexcept {
  if (std::exchange(state.ahead, false)) std::erase(ahead_, &state);
}

void pager::drop(buffer_state& state) {
  // A plan drops unsaved contents when the program frees the buffer without reading it again. If that proves
  // wrong they must still exist: the frame is the next victim when no other is left, and is written back
  // then.
  (void)leave(state);
}

void pager::release(buffer_state& state) {
  if (state.resident() && state.moving == motion::none) return set_planned(state, false);
  (void)leave(state);
}

void pager::write_back(buffer_state& state) {
  if (!leave(state)) return;
  start_save(state);
  if (const std::optional<fence> behind = transport_->let_go(state.transfer)) {
    saved(state);
    release_frame(state, *behind);
    ++counters_.evictions;
    return;
  }
  state.moving = motion::storing;
  leaving_.push_back(&state);
}

bool pager::reap(bool wait_for_one) {
  bool any = reap_orphans(wait_for_one && leaving_.empty());
  while (!leaving_.empty() && (slow_.poll(leaving_.front()->transfer) || (wait_for_one && !any))) {
    buffer_state& state = *leaving_.front();
    finish_save(state);
    if (state.pins == 0) {
      release_frame(state);
      ++counters_.evictions;
    }
    any = true;
  }
  return any;
}

// Budgets

void pager::trim() noexcept {
  end_orphans();
  (void)frames_->trim_to(0);
  slow_.trim();
}

void pager::shrink_to(std::size_t bytes) {
  while (frames_->held_bytes() > bytes) {
    if (frames_->trim_to(0) != 0) continue;
    if (reap(true) || evict_one(true)) continue;
    throw out_of_memory(text("cannot reduce the fast tier to ", bytes, " bytes: ", frames_->used_bytes(),
                             " bytes are in use by steps and scratch; the budget stays as it was"));
  }
}

std::size_t pager::reclaim(std::size_t bytes) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || (accesses_ != 0 && !transport_->may_share_during_steps())) return 0;
  // What stays in an arena moves together each time it is trimmed, so as much goes at once as is worth that.
  const auto part = [&](std::size_t least) {
    return frames_->moves_together() ? std::max(least, frames_->used_bytes() / worth_moving) : 1;
  };
  std::size_t given = 0;
  for (std::size_t open = part(bytes); given < bytes;) {
    try {
      while (frames_->free_bytes() < open && (reap(true) || evict_one(true))) {
      }
    } catch (const std::exception&) {  // a failing slow tier: what it cannot take stays where it is
    }
    const bool is_all = frames_->free_bytes() < open;
    const std::size_t trimmed = frames_->trim_to(0);
    given += trimmed;
    if (trimmed == 0 && is_all) break;
    // Nothing, where the last piece of the place is larger than what is free.
    open = part(bytes - std::min(given, bytes)) + (trimmed == 0 ? frames_->free_bytes() : 0);
  }
  return given;
}

void pager::expect_reclaim() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) prepare_to_leave();
}

void pager::prepare_to_leave() noexcept {
  std::size_t bytes = 0;
  for (turn_list& list : order_lists_) {
    for (const buffer_state* each : list) {
      if (each->needs_saving() && each->slot == no_slot) bytes += each->full_bytes();
    }
  }
  bytes = std::min(bytes, most_prepared);
  try {
    slow_.prepare(bytes);
  } catch (const std::exception&) {  // then each write gets its room by itself
  }
}

}  // namespace halocline::memory
