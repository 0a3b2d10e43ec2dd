// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/pager.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::memory {
namespace {

/// How often and how long a runtime waits for another one that shares its budget to end a step.
constexpr int share_attempts = 400;
constexpr auto share_pause = std::chrono::milliseconds(5);

class stopwatch {
 public:
  explicit stopwatch(std::uint64_t& total) : total_(total) {}
  ~stopwatch() {
    const auto spent = std::chrono::steady_clock::now() - begin_;
    total_ += static_cast<std::uint64_t>(std::chrono::nanoseconds(spent).count());
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

 private:
  std::uint64_t& total_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

bool needs_saving(const buffer_state& state) noexcept { return state.has_contents && !state.home_valid; }

}  // namespace

pager::pager(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget, std::shared_ptr<store> slow,
             eviction order, movement& counters, std::recursive_mutex& mutex)
    : frames_(std::move(place), std::move(budget)),
      slow_(std::move(slow)),
      order_(order),
      counters_(counters),
      mutex_(mutex) {
  frames_.budget().join(*this);
}

pager::~pager() { frames_.budget().leave(*this); }

// Steps

void pager::touch(const step_use& use, bool whole) {
  buffer_state& state = *use.state;
  if (state.regenerating) return;
  const std::size_t pages = (use.extent + 4095) / 4096 * 4096;
  const std::size_t need = whole || use.writes ? state.full_bytes() : pages;
  if (state.moving == motion::storing) finish_save(state);
  if (state.moving == motion::loading) {
    finish_load(state);
    ++counters_.prefetches;
  }
  // A prefix that no longer does is clean: only whole buffers are ever written.
  if (state.resident() && state.frame_bytes < need) {
    if (use.reads && grow(state, need, true)) {
      finish_load(state);
    } else {
      release_frame(state);
    }
  }
  if (!state.resident()) {
    std::byte* const frame = take_frame(need, true);
    HALOCLINE_EXPECTS(frame != nullptr, out_of_memory, "no frame of ", need, " bytes for ", state.tag);
    attach(state, frame, need);
    if (state.has_contents && (use.reads || !use.covers)) fill(state);
  }
  used_now(state);
  if (use.writes) {
    state.has_contents = true;
    state.home_valid = false;
  }
}

void pager::forget(buffer_state& state) noexcept {
  if (state.moving != motion::none) {
    try {
      slow_->wait(state.transfer);
    } catch (const std::exception&) {  // the bytes are no longer wanted
    }
    if (state.moving == motion::storing) std::erase(leaving_, &state);
    state.moving = motion::none;
  }
  if (state.resident()) release_frame(state);
  if (state.slot != no_slot) slow_->free(std::exchange(state.slot, no_slot));
}

// Frames

std::byte* pager::take_frame(std::size_t bytes, bool may_evict_planned) {
  for (;;) {
    std::byte* const frame = frames_.take(bytes);
    if (frame != nullptr) {
      peak_ = std::max(peak_, frames_.held_bytes());
      return frame;
    }
    if (reap(may_evict_planned)) continue;
    if (evict_one(may_evict_planned)) continue;
    return may_evict_planned ? take_shared_frame(bytes) : nullptr;
  }
}

std::byte* pager::take_shared_frame(std::size_t bytes) {
  for (int attempt = 0; attempt < share_attempts; ++attempt) {
    // Without others, or when they hold nothing, waiting does not help.
    if (frames_.budget().used() <= frames_.held_bytes()) return nullptr;
    if (frames_.budget().reclaim(*this, bytes) == 0) std::this_thread::sleep_for(share_pause);
    if (std::byte* const frame = frames_.take(bytes)) {
      peak_ = std::max(peak_, frames_.held_bytes());
      return frame;
    }
  }
  return nullptr;
}

bool pager::evict_one(bool may_evict_planned) {
  std::exception_ptr failure;
  for (std::size_t rank = 0; rank < (may_evict_planned ? 2U : 1U); ++rank) {
    for (buffer_state* each : order_lists_[rank]) {
      if (each->pins != 0 || each->moving != motion::none) continue;
      try {
        save(*each);
      } catch (const io_error&) {  // the slow tier is full or failed: a clean frame may do instead
        failure = std::current_exception();
        continue;
      }
      release_frame(*each);
      ++counters_.evictions;
      return true;
    }
  }
  if (may_evict_planned && evict_loading()) return true;
  if (failure && may_evict_planned) std::rethrow_exception(failure);
  return false;
}

bool pager::evict_loading() {
  for (const std::list<buffer_state*>& list : order_lists_) {
    for (buffer_state* each : list) {
      if (each->pins != 0 || each->moving != motion::loading) continue;
      try {
        finish_load(*each);
        release_frame(*each);
      } catch (const io_error&) {  // the frame is gone all the same, and the load will be tried again
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
  std::byte* data = frames_.resize(state.data, old, bytes);
  while (data == nullptr && !frames_.has_room(bytes - old) &&
         (reap(may_evict_planned) || evict_one(may_evict_planned))) {
    data = frames_.resize(state.data, old, bytes);
  }
  --state.pins;
  if (data == nullptr) return false;
  state.data = data;
  state.frame_bytes = bytes;
  peak_ = std::max(peak_, frames_.held_bytes());
  try {
    state.transfer = slow_->read_from(state.slot, old, data + old, bytes - old);
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
  if (state.where != placement::pool) enlist(state);
}

void pager::release_frame(buffer_state& state) noexcept {
  if (state.listed) unlist(state);
  if (state.wipe) sodium_memzero(state.data, state.frame_bytes);
  frames_.give(std::exchange(state.data, nullptr), std::exchange(state.frame_bytes, 0));
}

std::list<buffer_state*>& pager::list_of(const buffer_state& state) noexcept {
  return order_lists_[state.planned_here || state.hint == advice::preferred_device ? 1 : 0];
}

void pager::enlist(buffer_state& state) {
  std::list<buffer_state*>& list = list_of(state);
  state.order = list.insert(list.end(), &state);
  state.listed = true;
}

void pager::unlist(buffer_state& state) noexcept {
  list_of(state).erase(state.order);
  state.listed = false;
}

void pager::used_now(buffer_state& state) {
  if (!state.listed || order_ == eviction::least_recent_migration) return;
  std::list<buffer_state*>& list = list_of(state);
  list.splice(list.end(), list, state.order);
}

void pager::set_planned(buffer_state& state, bool planned) {
  if (state.planned_here == planned) return;
  const bool listed = state.listed;
  if (listed) unlist(state);
  state.planned_here = planned;
  if (listed) enlist(state);
}

// Contents

void pager::fill(buffer_state& state) {
  if (state.home_valid) {
    read_home(state);
  } else {
    run_recipe(state);
  }
}

void pager::read_home(buffer_state& state) {
  if (!state.home_valid) {
    release_frame(state);
    throw out_of_memory(text("no room to make ", state.tag, " again"));
  }
  try {
    const transfer_id transfer = slow_->read(state.slot, state.data, state.frame_bytes);
    wait(transfer);
  } catch (...) {
    release_frame(state);
    throw;
  }
  ++counters_.loads;
  counters_.loaded_bytes += state.frame_bytes;
  // Under unified memory a page is in one place only, unless it was advised to be read mostly.
  if (state.where == placement::managed && state.hint != advice::read_mostly) state.home_valid = false;
}

void pager::run_recipe(buffer_state& state) {
  HALOCLINE_EXPECTS(state.source != nullptr, device_error, "the contents of ", state.tag, " (buffer ",
                    state.id, ") are neither on a tier nor can they be made again");
  const stopwatch running(counters_.regenerate_ns);
  buffer handle{std::unique_ptr<buffer_state>(&state)};
  const auto end = [&] {
    (void)handle.state_.release();
    state.regenerating = false;
    --state.pins;
  };
  ++state.pins;
  state.regenerating = true;
  try {
    state.source->regenerate(handle, std::min(state.frame_bytes, state.bytes));
  } catch (const out_of_memory&) {  // what the recipe needs finds no room: the copy on the slow tier will do
    end();
    return read_home(state);
  } catch (...) {
    end();
    release_frame(state);
    throw;
  }
  end();
  const bool expands = state.source->kind() == recovery::expand;
  (expands ? counters_.expanded_bytes : counters_.encoded_bytes) += state.frame_bytes;
}

void pager::start_save(buffer_state& state) {
  if (state.slot == no_slot) state.slot = slow_->allocate(state.full_bytes());
  state.transfer = slow_->write(state.slot, state.data, state.frame_bytes);
}

void pager::saved(buffer_state& state) {
  state.home_valid = true;
  const bool first_copy = is_recoverable(state.cls) && state.where != placement::managed;
  (first_copy ? counters_.populated_bytes : counters_.written_bytes) += state.frame_bytes;
}

void pager::save(buffer_state& state) {
  if (!needs_saving(state)) return;
  start_save(state);
  wait(state.transfer);
  saved(state);
}

void pager::finish_load(buffer_state& state) {
  state.moving = motion::none;
  try {
    wait(state.transfer);
  } catch (...) {
    release_frame(state);
    throw;
  }
}

void pager::finish_save(buffer_state& state) {
  std::erase(leaving_, &state);
  state.moving = motion::none;
  wait(state.transfer);
  saved(state);
}

void pager::wait(transfer_id transfer) {
  const stopwatch stalled(counters_.stall_ns);
  slow_->wait(transfer);
}

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
    if (!frames_.has_room(bytes - state.frame_bytes)) return false;
    release_frame(state);  // the place cannot extend it: all of it is loaded again
  }
  std::byte* const frame = take_frame(bytes, false);
  if (frame == nullptr) return false;
  attach(state, frame, bytes);
  set_planned(state, true);
  try {
    state.transfer = slow_->read(state.slot, frame, bytes);
  } catch (...) {
    release_frame(state);
    throw;
  }
  state.moving = motion::loading;
  ++counters_.loads;
  counters_.loaded_bytes += bytes;
  return true;
}

bool pager::regenerate(buffer_state& state, std::size_t bytes) {
  bytes = std::min(bytes, state.full_bytes());
  if (state.moving == motion::storing) finish_save(state);
  const bool here = state.resident() && state.frame_bytes >= bytes;
  if (here || state.pins != 0 || state.moving != motion::none || !state.has_contents) {
    set_planned(state, state.resident());
    return true;
  }
  if (state.source == nullptr && state.home_valid) return start_load(state, bytes);
  if (state.resident()) release_frame(state);
  std::byte* const frame = take_frame(bytes, false);
  if (frame == nullptr) return false;
  attach(state, frame, bytes);
  set_planned(state, true);
  run_recipe(state);
  return true;
}

void pager::shrink(buffer_state& state, std::size_t bytes) {
  if (!state.resident() || state.pins != 0 || state.moving == motion::storing || needs_saving(state)) return;
  if (state.moving == motion::loading) finish_load(state);
  if (bytes == 0 || state.frame_bytes <= bytes) return;
  if (std::byte* const data = frames_.resize(state.data, state.frame_bytes, bytes)) {
    state.data = data;
    state.frame_bytes = bytes;
  }
}

bool pager::leave(buffer_state& state) {
  if (!state.resident() || state.pins != 0 || state.moving == motion::storing) return false;
  if (state.moving == motion::loading) finish_load(state);
  if (state.where == placement::pool) return false;
  set_planned(state, false);
  if (needs_saving(state)) return true;
  release_frame(state);
  ++counters_.evictions;
  return false;
}

void pager::drop(buffer_state& state) {
  // A plan drops unsaved contents when the program frees the buffer without reading it again. Should that
  // prove wrong they must still exist: the frame is the first to go when there is no other room, and is saved
  // then.
  (void)leave(state);
}

void pager::write_back(buffer_state& state) {
  if (!leave(state)) return;
  start_save(state);
  state.moving = motion::storing;
  leaving_.push_back(&state);
}

bool pager::reap(bool wait_for_one) {
  bool any = false;
  while (!leaving_.empty() && (slow_->poll(leaving_.front()->transfer) || (wait_for_one && !any))) {
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

void pager::shrink_to(std::size_t bytes) {
  while (frames_.held_bytes() > bytes) {
    if (frames_.trim_to(0) != 0) continue;
    if (reap(true) || evict_one(true)) continue;
    throw out_of_memory(text("cannot reduce the fast tier to ", bytes, " bytes: ", frames_.used_bytes(),
                             " bytes are in use by steps and scratch; the budget stays as it was"));
  }
}

std::size_t pager::reclaim(std::size_t bytes) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  std::size_t given = 0;
  try {
    while (given < bytes) {
      const std::size_t trimmed = frames_.trim_to(0);
      given += trimmed;
      if (trimmed == 0 && !reap(true) && !evict_one(true)) break;
    }
  } catch (const std::exception&) {  // a failing slow tier: what was not given back stays where it is
  }
  return given;
}

}  // namespace halocline::memory
