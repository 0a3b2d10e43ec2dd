// SPDX-License-Identifier: Apache-2.0
// Contents of frames: where they come from and where they go.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"
#include "memory/pager/pager.hpp"

namespace halocline::memory {
namespace {

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

}  // namespace

void pager::adopt(buffer_state& state, std::shared_ptr<const remote_contents> contents) {
  state.slot = slow_.adopt(std::move(contents), state.full_bytes());
  state.has_contents = state.home_valid = true;
}

void pager::leave_to_recipe(buffer_state& state) noexcept { state.has_contents = state.from_recipe = true; }

/// Starts reading into the frame that a buffer has just got.
void pager::start_read(buffer_state& state) {
  try {
    state.transfer = slow_.read(state.slot, state.data, state.frame_bytes);
  } catch (...) {
    release_frame(state);
    throw;
  }
  state.moving = motion::loading;
  ++counters_.loads;
  counters_.loaded_bytes += state.frame_bytes;
}

/// Loads or regenerates the contents of a buffer's frame; evicts the frame when they prove wrong.
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
    const transfer_id transfer = slow_.read(state.slot, state.data, state.frame_bytes);
    wait(transfer);
  } catch (const corrupt_data& failure) {
    release_frame(state);
    if (slow_.is_renewable(state.slot)) throw;  // the next attempt may find them repaired
    return give_up_home(state, failure.what());
  } catch (const io_error& failure) {
    release_frame(state);
    if (!state.source) throw;  // the next attempt may succeed
    return give_up_home(state, failure.what());
  } catch (...) {
    release_frame(state);
    throw;
  }
  ++counters_.loads;
  counters_.loaded_bytes += state.frame_bytes;
  // Under unified memory a page is in one place only, unless it was advised to be read mostly.
  if (state.where == placement::managed && state.hint != advice::read_mostly) state.home_valid = false;
}

/// The copy of a buffer on the slow tier is wrong or cannot be read, and it has no frame: it comes back from
/// its recipe when it is needed, or is lost.
void pager::give_up_home(buffer_state& state, const char* why) {
  state.home_valid = false;
  if (state.source) return;
  state.has_contents = false;
  state.lost = std::make_shared<const std::string>(
      text("the contents of buffer ", state.id, ", ", state.tag, " (", to_string(state.cls), ", ",
           state.bytes, " bytes), are lost: ", why,
           ". Every use of it fails from now on; the engine and its other objects "
           "are unharmed. Make it again, or load it again from where it came"));
  ++counters_.losses;
  counters_.lost_bytes += state.bytes;
}

void pager::run_recipe(buffer_state& state) {
  HALOCLINE_EXPECTS(state.source != nullptr, device_error, "the contents of ", state.tag, " (buffer ",
                    state.id, ") are neither on a tier nor can they be made again");
  const buffer handle(state);  // borrowed: the program has the handle that owns it
  const auto end = [&] {
    state.regenerating = false;
    --state.pins;
  };
  ++state.pins;
  state.regenerating = true;
  const bool planned = state.source->kind() != recovery::copy;
  const auto make = [&] { state.source->regenerate(handle, std::min(state.frame_bytes, state.bytes)); };
  try {
    if (planned) {
      transport_->recipes().measure(state.source->kind(), state.frame_bytes, make);
    } else {
      make();
    }
  } catch (const out_of_memory&) {  // there is no room for the recipe's operands: use the copy on the slow
                                    // tier
    end();
    return read_home(state);
  } catch (...) {
    end();
    release_frame(state);
    throw;
  }
  end();
  if (!state.home_valid && !state.from_recipe) {
    ++counters_.repairs;
    counters_.repaired_bytes += state.bytes;
  }
  if (!planned) return;
  const bool expands = state.source->kind() == recovery::expand;
  (expands ? counters_.expanded_bytes : counters_.encoded_bytes) += state.frame_bytes;
}

void pager::start_save(buffer_state& state) {
  if (state.slot == no_slot) state.slot = slow_.allocate(state.full_bytes());
  state.transfer = slow_.write(state.slot, state.data, state.frame_bytes);
}

void pager::saved(buffer_state& state) {
  state.home_valid = true;
  const bool first_copy = is_recoverable(state.cls) && state.where != placement::managed;
  (first_copy ? counters_.populated_bytes : counters_.written_bytes) += state.frame_bytes;
}

/// Afterwards the frame may be reused; its next use is ordered behind the returned moments.
fence pager::save(buffer_state& state) {
  if (!state.needs_saving()) return {};
  start_save(state);
  const std::optional<fence> behind = transport_->let_go(state.transfer);
  if (!behind) wait(state.transfer);
  saved(state);
  return behind.value_or(fence{});
}

/// Ends a load. A buffer whose copy proves to be wrong has no frame afterwards.
void pager::finish_load(buffer_state& state) {
  state.moving = motion::none;
  try {
    wait(state.transfer);
  } catch (
      const corrupt_data& failure) {  // matters to the step that needs the contents, perhaps not this one
    release_frame(state);
    if (!slow_.is_renewable(state.slot)) give_up_home(state, failure.what());
  } catch (const io_error& failure) {
    release_frame(state);
    if (slow_.is_renewable(state.slot))
      return;                  // the step that needs it reads it itself, and says what fails
    if (!state.source) throw;  // the next attempt may succeed
    give_up_home(state, failure.what());
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
  slow_.wait(transfer);
}

}  // namespace halocline::memory
