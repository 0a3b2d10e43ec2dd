// SPDX-License-Identifier: Apache-2.0
#include "memory/sim/planned_simulation.hpp"

#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "memory/plan/loose_part.hpp"

namespace halocline::memory::sim {
namespace {

constexpr double ns_per_us = 1e3;
/// Tables that no step uses are in no plan.
constexpr plan::object_index unknown = ~plan::object_index{0};

std::uint64_t in_pages(std::uint64_t bytes) {
  return std::uint64_t{plan::pages_of(bytes)} * plan::page_bytes;
}

/// Whether an object is in the device's memory when only keys are not.
bool begins_warm(const plan::object& each) {
  return each.preexisting && each.cls != object_class::evaluation_key;
}

/// A plan for a run that begins with everything but keys. Planners know what is there by its identity, so
/// tables have one for a moment.
plan::plan plan_cold_keys(plan::program& program, plan::planner_options& planning) {
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < program.objects.size(); ++i) {
    plan::object& each = program.objects[i];
    if (!begins_warm(each)) continue;
    if (each.identity == 0) {
      each.identity = ~std::uint64_t{i};
      named.push_back(i);
    }
    planning.resident[each.identity] = each.bytes;
  }
  plan::plan made = plan::make_plan(program, planning);
  for (const std::size_t i : named) made.objects[i].identity = 0;
  return made;
}

/// Collects the times of the steps that plans count.
class step_times final : public simulation {
 public:
  void exists(std::uint64_t, const sim_object&) override {}
  void allocate(std::uint64_t, const sim_object&) override {}
  void free(std::uint64_t, const sim_object&) override {}
  void step(const sim_step& step) override {
    if (!step.plans_skip) ns.push_back(step.us * ns_per_us);
  }
  [[nodiscard]] residency_point residency() const override { return {}; }

  std::vector<double> ns;
};

/// Refuses the first step whose rows do not stand together. A plan counts it once, a replay each part.
[[noreturn]] void refuse_split_step(const trace& recorded, std::size_t replayed, std::size_t planned) {
  const trace_event* access = nullptr;   // the last one
  const trace_event* between = nullptr;  // behind it
  for (const trace_event& event : recorded.events) {
    if (event.action == trace_action::exists) continue;
    if (event.action != trace_action::read && event.action != trace_action::write) {
      between = &event;
      continue;
    }
    if (access != nullptr && between != nullptr && access->step == event.step) {
      throw corrupt_data(text("trace, step ", event.step, ", object ", between->object, ": ",
                              to_string(between->action),
                              " stands among the reads and writes of the step; "
                              "expected the rows of a step together, with allocations before them and frees "
                              "behind them; give the rows behind it a step of their own, or record the trace "
                              "again"));
    }
    access = &event;
    between = nullptr;
  }
  throw corrupt_data(text("trace: replays find ", replayed, " steps that plans count, expected ", planned,
                          " as in its plan; record the trace again"));
}

plan::plan plan_for(const trace& recorded, const device_model& device, const replay_options& options,
                    const plan::cost_model& costs, std::uint64_t budget_bytes) {
  plan::program program = plan::make_program(recorded, costs, options.times);
  step_times times;
  trace_player(recorded, device, options).play(times, [](const sim_step&) {});
  if (times.ns.size() != program.steps()) refuse_split_step(recorded, times.ns.size(), program.steps());
  program.duration_ns = std::move(times.ns);
  plan::planner_options planning;
  planning.capacity_bytes = budget_bytes;
  planning.costs = costs;
  planning.allow_expand = planning.allow_encode = options.allow_regenerate;
  planning.allow_truncate = options.allow_prefixes;
  planning.allow_resize = options.allow_prefixes && options.allow_resize;
  planning.loose_bytes = options.loose_bytes.value_or(budget_bytes / loose_part);
  planning.steady = options.steady;
  return options.only_keys_cold ? plan_cold_keys(program, planning) : plan::make_plan(program, planning);
}

}  // namespace

planned_simulation::planned_simulation(const trace& recorded, const device_model& device,
                                       const replay_options& options, std::uint64_t budget_bytes,
                                       machine& clocks, replay_report& report)
    : device_(device),
      clocks_(clocks),
      report_(report),
      costs_(device.costs(options.kernel_scale)),
      plan_(plan_for(recorded, device, options, costs_, budget_bytes)),
      room_(budget_bytes),
      frames_(plan_.objects.size()) {
  if (options.made != nullptr) *options.made = plan_;
  for (plan::object_index i = 0; i < plan_.objects.size(); ++i) {
    by_id_.emplace(plan_.objects[i].id, i);
    frames_[i].whole_bytes = in_pages(plan_.objects[i].bytes);
    frames_[i].is_scratch = plan_.objects[i].cls == object_class::scratch;
  }
  if (options.only_keys_cold) begin_warm();
}

/// What the plan brings before the first step is there, unless it is a key.
void planned_simulation::begin_warm() {
  for (const plan::directive& each : plan_.directives) {
    if (each.before != 0) break;
    const bool comes = each.action == plan::verb::load || each.action == plan::verb::encode;
    if (!comes || !begins_warm(plan_.objects[each.target])) continue;
    (void)take(frames_[each.target], std::uint64_t{each.pages} * plan::page_bytes);
  }
}

void planned_simulation::exists(std::uint64_t number, const sim_object& object) { enlist(number, object); }

void planned_simulation::restart() {
  std::vector<std::uint64_t> counted_on(
      frames_.size());  // what the plan finds, or brings before its first step
  for (const plan::directive& each : plan_.directives) {
    if (each.before != 0) break;
    if (plan_.objects[each.target].identity == 0) continue;
    counted_on[each.target] = std::uint64_t{each.pages} * plan::page_bytes;
  }
  next_ = 0;
  order_us_ = 0;
  for (plan::object_index i = 0; i < frames_.size(); ++i) {
    frames_[i].ready_us = frames_[i].unused_us = 0;
    give_back(frames_[i], counted_on[i], 0);
  }
  for (; !releases_.empty(); releases_.pop()) room_ += releases_.top().second;
}

void planned_simulation::allocate(std::uint64_t number, const sim_object& object) {
  enlist(number, object);
  clocks_.host_work(device_.pool_allocate_us);
  report_.allocate_s += device_.pool_allocate_us / us_per_s;
}

void planned_simulation::enlist(std::uint64_t number, const sim_object& object) {
  const auto found = by_id_.find(object.id);
  numbers_.emplace(number, found == by_id_.end() ? unknown : found->second);
}

void planned_simulation::free(std::uint64_t number, const sim_object&) {
  const auto found = numbers_.find(number);
  if (found->second != unknown) {
    frame& gone = frames_[found->second];
    give_back(gone, 0, gone.unused_us);
  }
  numbers_.erase(found);
  clocks_.host_work(device_.pool_free_us);
  report_.free_s += device_.pool_free_us / us_per_s;
}

void planned_simulation::step(const sim_step& step) {
  double ready = 0;
  if (!step.plans_skip) {
    for (; next_ < plan_.directives.size() && plan_.directives[next_].before <= step.number; ++next_) {
      carry_out(plan_.directives[next_]);
    }
    for (const sim_use& use : step.uses) {
      frame& used = frame_of(use, step);
      if (used.bytes == 0) used.ready_us = take(used, used.whole_bytes);
      ready = std::max(ready, used.ready_us);
    }
  }
  clocks_.run({step.launches, step.us, 0, ready, step.op});
  if (step.plans_skip) return;
  for (const sim_use& use : step.uses) {
    frame_of(use, step).unused_us = clocks_.device_us();
  }
}

planned_simulation::frame& planned_simulation::frame_of(const sim_use& use, const sim_step& step) {
  const auto found = numbers_.find(use.object);
  HALOCLINE_EXPECTS(found != numbers_.end() && found->second < frames_.size(), corrupt_data, "replay on '",
                    device_.name, "': step ", step.number, " ('", step.op, "') uses buffer ", use.object,
                    ", which is in no plan; expected one of ", frames_.size(),
                    " planned buffers; record the trace again");
  return frames_[found->second];
}

void planned_simulation::carry_out(const plan::directive& each) {
  frame& target = frames_[each.target];
  const std::uint64_t bytes = std::uint64_t{each.pages} * plan::page_bytes;
  switch (each.action) {
    case plan::verb::load: {
      // A frame that is there grows: only what is missing is transferred.
      const std::uint64_t missing = bytes - std::min(bytes, target.bytes);
      if (missing == 0) break;
      const double room = take(target, bytes);
      target.ready_us = std::max(target.ready_us, clocks_.load(missing, std::max(room, clocks_.host_us())));
      break;
    }
    case plan::verb::expand:
    case plan::verb::encode:
      regenerate(target, bytes, each.action == plan::verb::expand);
      break;
    case plan::verb::drop:
      give_back(target, 0, target.unused_us);
      break;
    case plan::verb::shrink:
      give_back(target, bytes, target.unused_us);
      break;
    case plan::verb::write_back:
      give_back(target, 0, write_back(target));
      break;
  }
}

double planned_simulation::write_back(const frame& source) {
  return clocks_.store(source.bytes, std::max({source.unused_us, order_us_, clocks_.host_us()}));
}

void planned_simulation::regenerate(frame& target, std::uint64_t bytes, bool seed) {
  const double room = take(target, bytes);
  const double us = (seed ? costs_.expand : costs_.encode).at(static_cast<double>(bytes)) / ns_per_us;
  clocks_.run({1, us, 0, room, seed ? "expand seed" : "encode"});
  target.ready_us = target.unused_us = clocks_.device_us();
  report_.regenerate_s += us / us_per_s;
  report_.regenerated_bytes += bytes;
}

double planned_simulation::take(frame& target, std::uint64_t frame_bytes) {
  const std::uint64_t bytes = frame_bytes - std::min(frame_bytes, target.bytes);
  for (; room_ < bytes; releases_.pop()) {
    HALOCLINE_EXPECTS(!releases_.empty(), error, "replay on '", device_.name, "': the plan needs ",
                      bytes - room_, " bytes more than its capacity at directive ", next_);
    order_us_ = std::max(order_us_, releases_.top().first);
    room_ += releases_.top().second;
  }
  room_ -= bytes;
  used_ += bytes;
  if (target.is_scratch) scratch_ += bytes;
  if (target.bytes == 0) target.unused_us = 0;
  target.bytes = std::max(target.bytes, frame_bytes);
  return order_us_;
}

void planned_simulation::give_back(frame& from, std::uint64_t kept_bytes, double when) {
  if (from.bytes <= kept_bytes) return;
  const std::uint64_t bytes = from.bytes - kept_bytes;
  releases_.emplace(std::max(when, from.ready_us), bytes);
  used_ -= bytes;
  if (from.is_scratch) scratch_ -= bytes;
  from.bytes = kept_bytes;
}

residency_point planned_simulation::residency() const { return {0, used_, scratch_, 0}; }

}  // namespace halocline::memory::sim
