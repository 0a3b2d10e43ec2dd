// SPDX-License-Identifier: Apache-2.0
#include "memory/sim/lru_simulation.hpp"

#include <algorithm>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/plan/minimum.hpp"

namespace halocline::memory::sim {
namespace {

std::uint64_t frame_bytes(std::uint64_t bytes) {
  return std::uint64_t{plan::pages_of(bytes)} * plan::page_bytes;
}

}  // namespace

lru_simulation::lru_simulation(const trace& recorded, const device_model& device,
                               const replay_options& options, std::uint64_t budget_bytes, machine& clocks,
                               replay_report& report)
    : recorded_(recorded),
      device_(device),
      clocks_(clocks),
      report_(report),
      policy_(make_policy(options.policy, options.constants)),
      budget_(budget_bytes) {}

void lru_simulation::exists(std::uint64_t number, const sim_object& object) { place(number, object, false); }

void lru_simulation::allocate(std::uint64_t number, const sim_object& object) {
  const double begin = clocks_.host_us();
  place(number, object, true);
  report_.allocate_s += (clocks_.host_us() - begin) / us_per_s;
}

void lru_simulation::place(std::uint64_t number, const sim_object& object, bool timed) {
  policy_state state;
  state.budget_bytes = budget_;
  state.pool_bytes = pooled_;
  const placement where = policy_.decide(state, {object.bytes, object.cls, object.tag, 0}).where;
  held made;
  made.bytes = frame_bytes(object.bytes);
  made.pooled = where != placement::paged;
  made.has_contents = !timed;
  if (made.pooled) {
    make_room(made.bytes, nullptr);
    used_ += made.bytes;
    pooled_ += made.bytes;
    if (timed) clocks_.host_work(device_.pool_allocate_us);
  }
  objects_.emplace(number, made);
}

void lru_simulation::free(std::uint64_t number, const sim_object&) {
  const auto found = objects_.find(number);
  const held& gone = found->second;
  if (gone.pooled) pooled_ -= gone.bytes;
  if (gone.pooled || gone.has_frame) used_ -= gone.bytes;
  if (gone.has_frame) turns_.erase(gone.turn);
  clocks_.host_work(device_.pool_free_us);
  report_.free_s += device_.pool_free_us / us_per_s;
  objects_.erase(found);
}

void lru_simulation::step(const sim_step& step) {
  std::uint64_t missing = 0;
  ++steps_;
  for (const sim_use& use : step.uses) {
    held& touched = objects_.find(use.object)->second;
    touched.last_step = steps_;
    if (touched.pooled) continue;
    if (touched.has_frame) {
      turns_.splice(turns_.end(), turns_, touched.turn);
    } else {
      missing += touched.bytes;
    }
  }
  make_room(missing, &step);
  for (const sim_use& use : step.uses) bring_in(use);
  clocks_.run({step.launches, step.us, 0, 0, step.op});
}

void lru_simulation::bring_in(const sim_use& use) {
  held& touched = objects_.find(use.object)->second;
  if (!touched.pooled && !touched.has_frame) {
    touched.has_frame = true;
    touched.turn = turns_.insert(turns_.end(), use.object);
    used_ += touched.bytes;
    if (touched.has_contents && use.needs_contents()) {
      clocks_.synchronize();
      block_until(clocks_.load(touched.bytes, clocks_.host_us()));
    }
  }
  if (use.writes) touched.dirty = touched.has_contents = true;
}

void lru_simulation::make_room(std::uint64_t bytes, const sim_step* step) {
  const auto is_pinned = [&](std::uint64_t number) {
    return step != nullptr && objects_.find(number)->second.last_step == steps_;
  };
  while (used_ + bytes > budget_) {
    const auto victim = std::find_if_not(turns_.begin(), turns_.end(), is_pinned);
    if (victim == turns_.end()) refuse(step == nullptr ? "an allocation" : step->op, used_ + bytes);
    evict(*victim);
  }
}

void lru_simulation::refuse(std::string_view what, std::uint64_t bytes) const {
  const std::uint64_t needed = std::max(bytes, plan::find_minimum(recorded_).lru_bytes);
  throw out_of_memory(text("policy '", policy_.name(), "' on '", device_.name, "': ", what, " needs ",
                           format_bytes(bytes), " at once, budget ", format_bytes(budget_),
                           ". The whole program needs at least ", format_bytes(needed), " (", needed,
                           " bytes)"));
}

void lru_simulation::evict(std::uint64_t number) {
  held& victim = objects_.find(number)->second;
  if (victim.dirty) {
    clocks_.synchronize();
    block_until(clocks_.store(victim.bytes, clocks_.host_us()));
    victim.dirty = false;
  }
  victim.has_frame = false;
  turns_.erase(victim.turn);
  used_ -= victim.bytes;
}

void lru_simulation::block_until(double us) {
  clocks_.hold_device(us);
  clocks_.wait_until(us);
}

residency_point lru_simulation::residency() const { return {0, used_, pooled_, 0}; }

}  // namespace halocline::memory::sim
