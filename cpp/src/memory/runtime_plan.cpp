// SPDX-License-Identifier: Apache-2.0
// Plans and budgets of the runtime.
#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier.hpp"
#include "memory/buffer_state.hpp"
#include "memory/device/device_side.hpp"
#include "memory/pager/cost_meter.hpp"
#include "memory/pager/pager.hpp"
#include "memory/pager/plan_executor.hpp"
#include "memory/pinned_step.hpp"

namespace halocline::memory {
namespace {

/// Longer than the host takes to queue the operations of a calibration.
constexpr std::uint64_t calibration_ns = 5'000'000;

}  // namespace

void runtime::begin_plan(std::shared_ptr<const plan::plan> source) {
  HALOCLINE_EXPECTS(source != nullptr, invalid_argument, "begin_plan: no plan");
  const std::lock_guard lock(mutex_);
  HALOCLINE_EXPECTS(pager_ && policy_->traits().order == eviction::planned, invalid_argument,
                    "begin_plan: the policy is '", policy_->name(), "'; plans are followed under 'planned'");
  HALOCLINE_EXPECTS(!executor_, invalid_argument, "begin_plan: a plan is active already; end it first");
  const std::size_t budget = budget_->capacity();
  HALOCLINE_EXPECTS(budget == 0 || source->capacity_bytes <= budget, memory::plan::exceeds_budget,
                    "begin_plan: the plan was made for ", format_bytes(source->capacity_bytes),
                    ", the budget is ", format_bytes(budget), "; plan again for this budget");
  outcome_ = {};
  executor_ = std::make_unique<plan_executor>(std::move(source), *pager_, live_);
}

void runtime::follow_plan(std::span<const step_use> uses, std::string_view op) {
  plan::step_hash hash(op);
  for (const step_use& use : uses) {
    hash.add(use.state->cls, use.state->bytes, use.writes, executor_->which(*use.state));
  }
  if (executor_->begin_step(hash.value(), uses)) return;
  const std::size_t step = executor_->steps_done();
  give_up_plan(step == executor_->source().steps()
                   ? text("the program goes on with ", op, " after the last of the plan's ", step, " steps")
                   : text("step ", step, " of the program is ", op, " on other operands than in the plan"));
}

void runtime::give_up_plan(std::string reason) {
  outcome_ = {executor_->steps_done(), true, std::move(reason)};
  ++stats_.moved.divergences;
  executor_->release(live_);
  executor_.reset();
}

plan_outcome runtime::end_plan() {
  const std::lock_guard lock(mutex_);
  if (executor_) {
    const std::size_t done = executor_->steps_done();
    const std::size_t all = executor_->source().steps();
    outcome_ = {done, done != all,
                done == all ? std::string() : text("the program ended after ", done, " of ", all, " steps")};
    executor_->release(live_);
    executor_.reset();
  }
  return std::exchange(outcome_, {});
}

plan::cost_model runtime::measured_costs() {
  const std::lock_guard lock(mutex_);
  plan::cost_model base;
  if (options_.device) {
    base.expand = plan::accelerator_expand;
    base.encode = plan::accelerator_encode;
  }
  if (!pager_) return base;
  if (!link_) link_ = accelerator_ ? pager_->measure_device_link() : measure_link(pager_->slow());
  if (accelerator_) accelerator_->steps.finish(*meter_);
  base.load = {static_cast<double>(link_->read_latency_ns), 1e9 / link_->read_bytes_per_second};
  base.store = {static_cast<double>(link_->write_latency_ns), 1e9 / link_->write_bytes_per_second};
  refine_links(base, pager_->slow().statistics());
  pager_->recipes().refine(base);
  return meter_->costs(base);
}

plan::planner_options runtime::planning(std::uint64_t capacity_bytes) {
  plan::planner_options result;
  result.capacity_bytes = capacity_bytes;
  result.costs = measured_costs();
  const std::lock_guard lock(mutex_);
  result.loose_bytes = capacity_bytes / loose_part;
  result.allow_resize = !accelerator_;  // frames of a device lie in a row: they rarely find room to grow
  for (const buffer_state* each : live_) {
    if (each->identity != 0 && each->resident()) result.resident[each->identity] = each->frame_bytes;
  }
  return result;
}

void runtime::forget_costs() {
  const std::lock_guard lock(mutex_);
  if (!meter_) return;
  // Steps that an accelerator has not come to yet belong to what is forgotten.
  if (accelerator_) accelerator_->steps.finish(*meter_);
  meter_->forget();
  if (accelerator_) options_.device->occupy(calibration_ns);
}

void runtime::set_budget(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (pager_ && bytes != 0) {
    if (executor_ && bytes < executor_->source().capacity_bytes) {
      give_up_plan("the budget became smaller than the plan's");
    }
    const std::size_t held = pager_->held().held_bytes();
    const std::size_t others = budget_->used() - held;
    pager_->shrink_to(bytes - std::min(bytes, others));
  } else if (!pager_) {
    if (accelerator_ && bytes != 0) accelerator_->managed->shrink_to(bytes);
    device_->trim();
  }
  HALOCLINE_EXPECTS(budget_->set_capacity(bytes), out_of_memory,
                    "set_budget: ", format_bytes(budget_->used()), " are in use, more than ",
                    format_bytes(bytes), "; the budget stays ", format_bytes(budget_->capacity()));
  options_.budget_bytes = bytes;
}

}  // namespace halocline::memory
