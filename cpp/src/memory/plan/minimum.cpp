// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/minimum.hpp"

#include <algorithm>
#include <unordered_map>

#include "halocline/memory/plan/planner.hpp"

namespace halocline::memory::plan {
namespace {

std::uint64_t frame_bytes(std::uint64_t bytes) { return std::uint64_t{pages_of(bytes)} * page_bytes; }

/// What steps demand of the fast tier without a plan, as the runtime places it: operands whole and pinned,
/// scratch from its first touch until it is freed.
class demand_walk {
 public:
  void add(const trace_event& event) {
    if (event.action == trace_action::read || event.action == trace_action::write) return touch(event);
    // Rows of buffers that were there before stand among those of the step that touches them first.
    if (event.action != trace_action::exists) close_step();
    if (event.action == trace_action::free) return free(event);
    buffer& added = buffers_[event.object];
    added = {event.bytes, event.cls};
    buffers_most_ = std::max(buffers_most_, frame_bytes(event.bytes));
    allocations_most_ = std::max(allocations_most_, buffers_most_);
    if (event.cls != object_class::scratch) return;
    scratch_allocated_ += event.bytes;  // the policy counts it before it has a frame
    allocations_most_ = std::max(allocations_most_, scratch_allocated_);
  }

  void close_step() {
    if (!open_) return;
    steps_most_ = std::max(steps_most_, operands_ + scratch_);
    managed_most_ = std::max(managed_most_, operands_ + scratch_operands_);
    if (writes_tables_ && !writes_others_) tables_most_ = std::max(tables_most_, operands_ + scratch_);
    open_ = writes_tables_ = writes_others_ = false;
    operands_ = scratch_operands_ = 0;
    ++step_;
  }

  /// For every step.
  [[nodiscard]] std::uint64_t whole() const noexcept { return std::max(steps_most_, allocations_most_); }
  /// For every step, where scratch needs room only while a step uses it.
  [[nodiscard]] std::uint64_t managed() const noexcept { return std::max(managed_most_, buffers_most_); }
  /// For what no plan is about: steps that build tables, and allocations.
  [[nodiscard]] std::uint64_t outside_plans() const noexcept {
    return std::max(tables_most_, allocations_most_);
  }

 private:
  struct buffer {
    std::uint64_t bytes = 0;
    object_class cls{};
    bool holds_scratch = false;
    std::uint64_t last_step = ~std::uint64_t{0};
  };

  void touch(const trace_event& event) {
    if (open_ && event.step != trace_step_) close_step();
    open_ = true;
    trace_step_ = event.step;
    buffer& touched = buffers_.at(event.object);
    if (event.action == trace_action::write) {
      (touched.cls == object_class::table ? writes_tables_ : writes_others_) = true;
    }
    const bool again = touched.last_step == step_;
    touched.last_step = step_;
    if (touched.cls == object_class::scratch) {
      if (!again) scratch_operands_ += frame_bytes(touched.bytes);
      if (!touched.holds_scratch) scratch_ += frame_bytes(touched.bytes);
      touched.holds_scratch = true;
    } else if (!again) {
      operands_ += frame_bytes(touched.bytes);
    }
  }

  void free(const trace_event& event) {
    const auto gone = buffers_.find(event.object);
    if (gone->second.holds_scratch) scratch_ -= frame_bytes(gone->second.bytes);
    if (gone->second.cls == object_class::scratch) scratch_allocated_ -= gone->second.bytes;
    buffers_.erase(gone);
  }

  std::unordered_map<std::uint64_t, buffer> buffers_;
  bool open_ = false, writes_tables_ = false, writes_others_ = false;
  std::uint64_t step_ = 0, trace_step_ = 0;
  std::uint64_t operands_ = 0, scratch_operands_ = 0, scratch_ = 0, scratch_allocated_ = 0;
  std::uint64_t steps_most_ = 0, managed_most_ = 0, tables_most_ = 0;
  std::uint64_t buffers_most_ = 0, allocations_most_ = 0;
};

}  // namespace

minimum_budget find_minimum(const trace& recorded) {
  const std::uint64_t planned = minimum_capacity(make_program(recorded, {}));  // checks the trace
  demand_walk walk;
  for (const trace_event& each : recorded.events) walk.add(each);
  walk.close_step();
  return {walk.whole(), std::max(planned, walk.outside_plans()), walk.managed()};
}

}  // namespace halocline::memory::plan
