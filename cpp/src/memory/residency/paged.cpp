// SPDX-License-Identifier: Apache-2.0
#include "memory/residency/paged.hpp"

#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/plan/program.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {
namespace {

/// Whether a step only builds tables: when that happens differs between runs of the same program.
bool builds_tables(std::span<const step_use> uses) {
  bool writes = false;
  for (const step_use& use : uses) {
    if (use.writes && use.state->cls != object_class::table) return false;
    writes = writes || use.writes;
  }
  return writes;
}

/// Steps between looks at the link for buffers that are brought ahead: a look takes about a microsecond.
constexpr std::size_t ahead_steps = 32;

/// Where processors both compute and move bytes, transfers go on for as long as the program computes: they
/// take longer than the few of a probe, and arrive later than the link's busy time alone says. On two
/// processors with a disk that is read at 2.3 to 3.3 GB/s in a probe and 1.2 GB/s in `wide-rotations`, plans
/// made with these factors expand more halves instead of loading them, and runs within 10 % of the footprint
/// take 12.3 to 13.2 s instead of 12.9 to 14.8.
constexpr double sustained_against_probe = 2.0;
constexpr double lateness_on_host = 1.25;

}  // namespace

paged_residency::paged_residency(const residency_parts& parts, std::unique_ptr<transport> copies,
                                 std::unique_ptr<step_clock> clock)
    : parts_(parts),
      clock_(std::move(clock)),
      pager_(std::move(copies), parts.budget, parts.traits.order, parts.moved, parts.mutex) {}

// Buffers

/// Others that move bytes hand them back when a pager asks, so it may count on all of the budget.
std::size_t paged_residency::budget_left(std::size_t) const noexcept { return parts_.budget->capacity(); }

/// The frame comes with the first touch.
placing paged_residency::place(buffer_state& state) {
  const std::size_t capacity = parts_.budget->capacity();
  return capacity != 0 && state.full_bytes() > capacity ? placing::over_budget : placing::done;
}

void paged_residency::free(buffer_state& state) noexcept {
  if (executor_) executor_->freed(state);
  pager_.forget(state);
}

void paged_residency::forsake(buffer_state& state) noexcept {
  if (state.wipe && state.resident()) pager_.copies().wipe_inherited(state.data, state.frame_bytes);
}

std::size_t paged_residency::held_bytes(const buffer_state& state) const noexcept {
  return state.frame_bytes;
}

// Steps

bool paged_residency::is_timed(std::string_view op) { return clock_->wants(meter_, op); }

placing paged_residency::bring(std::span<const step_use> uses, std::string_view op, std::size_t touched,
                               std::unique_ptr<pinned_step>& pinned) {
  pinned = std::make_unique<pinned_step>(pinned_step{{}, meter_.number_of(op), touched, false, 0});
  pinned->states.reserve(uses.size());
  for (const step_use& use : uses) {
    pinned->states.push_back(use.state);
    ++use.state->pins;
  }
  // Without a plan it is unknown which prefix the next use needs.
  const bool whole = executor_ == nullptr || !executor_->is_here();
  try {
    pager_.begin_reads(uses, whole);
    for (const step_use& use : uses) pager_.touch(use, whole);
  } catch (const out_of_memory&) {
    return pager_.held().is_refused_by_place() ? placing::refused_by_system : placing::no_room;
  }
  for (const step_use& use : uses) ++use.state->held;
  // After what the step itself reads, and after what the plan loads before it.
  if (pager_.brings_ahead() && ++ahead_steps_ % ahead_steps == 0) pager_.go_on_ahead();
  pager_.begin_access();
  pinned->is_ready = true;
  if (touched != 0) pinned->begin = clock_->begin(meter_, pinned->op);
  return placing::done;
}

void paged_residency::unpin(pinned_step& step) noexcept {
  for (buffer_state* each : step.states) --each->pins;
  if (!step.is_ready) return;
  for (buffer_state* each : step.states) --each->held;
  pager_.end_access();
  if (step.touched_bytes != 0) clock_->end(meter_, step.op, step.touched_bytes, step.begin);
}

// Ahead of steps

fetched paged_residency::fetch(buffer_state& state) {
  const fetched left = pager_.bring_ahead(state);
  return state.ahead ? left : fetched::done;
}

void paged_residency::set_spare(buffer_state& state, bool spare) {
  pager_.stop_ahead(state);
  pager_.set_spare(state, spare);
}

// Budget

void paged_residency::set_budget(std::size_t bytes) {
  if (bytes == 0) return;
  if (executor_ && bytes < executor_->source().capacity_bytes) {
    give_up_plan("the budget became smaller than the plan's");
  }
  const std::size_t others = parts_.budget->used() - pager_.held().held_bytes();
  pager_.shrink_to(bytes - std::min(bytes, others));
}

// What is known

void paged_residency::report(stats& counters) {
  counters.cached_bytes = pager_.held().free_bytes();
  counters.fast_bytes = pager_.held().held_bytes();
  counters.peak_fast_bytes = pager_.peak_bytes();
  counters.moved.stall_ns += pager_.copies().slow().statistics().device_stall_ns;
  counters.moved.regenerate_ns = pager_.copies().recipes().total_ns();
}

store_stats paged_residency::slow_statistics() {
  pager_.end_orphans();
  return pager_.copies().slow().statistics();
}

std::vector<link_stats> paged_residency::link_statistics() {
  pager_.end_orphans();
  return pager_.copies().slow().links();
}

/// Under unified memory a page is in one place only.
bool paged_residency::reads_remote() noexcept {
  const bool copies = parts_.traits.order != eviction::least_recent_migration;
  return copies && pager_.copies().slow().adopts();
}

const char* paged_residency::why_it_stays() const noexcept {
  return parts_.options.device ? stays_with_driver : stays_with_slow_tier;
}

/// What a plan assumes of a link: as measured once enough has moved over it.
plan::linear_cost paged_residency::cost_of(const link_stats& link, const plan::cost_model& costs) const {
  constexpr std::uint64_t enough = std::uint64_t{4} << 20;
  const bool is_remote = link.name == "remote";
  const double latency = is_remote ? 1e9 * parts_.options.remote_latency_seconds : costs.load.fixed_ns;
  if (link.read_bytes >= enough) {
    return {latency, static_cast<double>(link.read_busy_ns) / static_cast<double>(link.read_bytes)};
  }
  return is_remote ? plan::linear_cost{latency, 1e9 / parts_.options.remote_bytes_per_second} : costs.load;
}

void paged_residency::describe_chain(plan::planner_options& options) {
  const store& slow = pager_.copies().slow();
  const std::vector<link_stats> links = slow.links();
  for (const buffer_state* each : parts_.live) {
    if (each->from_recipe) options.made.insert(each->identity);
    if (!each->home_valid || !slow.is_renewable(each->slot)) continue;
    plan::whereabouts& where = options.remote[each->identity];
    where.copies = slow.copies_of(each->slot);
  }
  if (options.remote.empty() && parts_.options.tier_memory_bytes == 0) return;
  // With an accelerator the file only takes what pinned memory has no room for.
  const bool has_file =
      parts_.options.device == nullptr || std::ranges::any_of(options.remote, [](const auto& each) {
        return each.second.copies.size() > 1 && each.second.copies[1] != 0;
      });
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!has_file && i == 1) continue;
    options.links.push_back({links[i].name, cost_of(links[i], options.costs), links[i].capacity_bytes});
  }
  if (has_file) return;
  for (auto& [identity, where] : options.remote)
    where.copies.resize(std::min<std::size_t>(1, where.copies.size()));
}

plan::cost_model paged_residency::measured_costs(const plan::cost_model& base) {
  if (!link_) link_ = pager_.copies().measure_link(pager_);
  clock_->finish(meter_);
  plan::cost_model result = base;
  const bool on_host = parts_.options.device == nullptr;
  const double longer = on_host ? sustained_against_probe : 1;
  result.load = {static_cast<double>(link_->read_latency_ns), longer * 1e9 / link_->read_bytes_per_second};
  result.store = {static_cast<double>(link_->write_latency_ns), 1e9 / link_->write_bytes_per_second};
  refine_links(result, pager_.copies().slow().statistics(), on_host ? lateness_on_host : 1);
  result = meter_.costs(result);
  const auto expanding = result.operations.find(plan::expanding_operation);
  if (on_host && expanding != result.operations.end()) result.expand = expanding->second;
  pager_.copies().recipes().refine(result);
  return result;
}

void paged_residency::forget_costs() {
  clock_->finish(meter_);  // steps that an accelerator has not reached belong to the discarded costs
  meter_.forget();
  clock_->calibrate();
}

// Plans

plan_follower* paged_residency::plans() noexcept {
  return parts_.traits.order == eviction::planned ? this : nullptr;
}

void paged_residency::begin(std::shared_ptr<const plan::plan> source) {
  outcome_ = {};
  pager_.set_resting(false);
  executor_ = std::make_unique<plan_executor>(std::move(source), pager_, parts_.live);
}

plan_outcome paged_residency::end() {
  pager_.set_resting(true);
  if (executor_) {
    const std::size_t done = executor_->steps_done();
    const std::size_t all = executor_->source().steps();
    outcome_ = {done, done != all,
                done == all ? std::string() : text("the program ended after ", done, " of ", all, " steps")};
    executor_->release(parts_.live);
    executor_.reset();
    const memory_budget& budget = *parts_.budget;
    if (budget.is_nearly_full() && budget.used() > budget.own()) pager_.prepare_to_leave();
  }
  return std::exchange(outcome_, {});
}

void paged_residency::give_up_plan(std::string reason) {
  outcome_ = {executor_->steps_done(), true, std::move(reason)};
  ++parts_.moved.divergences;
  executor_->release(parts_.live);
  executor_.reset();
}

void paged_residency::allocated(buffer_state& state) {
  if (!executor_ || !executor_->is_here() || executor_->allocated(state)) return;
  give_up_plan(text("the program allocates ", state.bytes, " bytes for ", state.tag,
                    " where the plan has another object"));
}

void paged_residency::next_step(std::span<const step_use> uses, std::string_view op) {
  if (!executor_ || !executor_->is_here() || builds_tables(uses)) return;
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

}  // namespace halocline::memory
