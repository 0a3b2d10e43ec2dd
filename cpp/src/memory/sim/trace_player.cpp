// SPDX-License-Identifier: Apache-2.0
#include "memory/sim/trace_player.hpp"

#include <algorithm>
#include <map>

#include "halocline/core/expects.hpp"

namespace halocline::memory::sim {
namespace {

/// How many ranges of an object a row is compared with. Kernels touch fewer parts of a buffer; a limit keeps
/// steps with very many rows linear.
constexpr int merge_attempts = 64;

bool is_access(const trace_event& event) {
  return event.action == trace_action::read || event.action == trace_action::write;
}

recovery recovery_of(std::string_view op) {
  for (const recovery each : {recovery::expand, recovery::encode}) {
    if (op == to_string(each)) return each;
  }
  return recovery::copy;
}

std::string_view phase_of(std::string_view tag) {
  const std::size_t slash = tag.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : tag.substr(0, slash);
}

}  // namespace

trace_player::trace_player(const trace& recorded, const device_model& device, const replay_options& options)
    : trace_(recorded), device_(device), options_(options) {
  bool inside = false;
  std::uint64_t step = 0;
  for (const trace_event& event : trace_.events) {
    if (event.op >= trace_.names.size() || event.tag >= trace_.names.size())
      refuse(event, "its texts are missing");
    if (event.step < step) refuse(event, "steps are out of order");
    if (is_access(event) && (!inside || event.step != step)) ++steps_;
    inside = is_access(event) || (inside && event.action == trace_action::exists);
    step = event.step;
  }
}

void trace_player::refuse(const trace_event& event, std::string_view what) const {
  throw corrupt_data(
      text("trace, step ", event.step, ", object ", event.object, ": ", what, "; record the trace again"));
}

void trace_player::begin(simulation& to) {
  std::map<std::uint64_t, sim_object> left;  // by number, so that replays are deterministic
  for (const auto& [id, each] : live_) {
    if (!each.what.existed) left.emplace(each.number, each.what);
  }
  for (const auto& [number, what] : left) {
    live_.erase(what.id);
    to.free(number, what);
  }
  kept_ = 0;
  step_end_ = 0;
  for (const trace_event& event : trace_.events) {
    if (event.action != trace_action::exists) continue;
    if (began_ && live_.contains(event.object)) continue;
    add(event);
    const open_object& made = find(event);
    to.exists(made.number, made.what);
  }
  began_ = true;
}

void trace_player::add(const trace_event& event) {
  if (event.bytes == 0) refuse(event, "it has no bytes");
  const sim_object what{event.object,
                        event.bytes,
                        event.cls,
                        recovery_of(trace_.op(event)),
                        event.action == trace_action::exists,
                        trace_.tag(event)};
  if (!live_.try_emplace(event.object, open_object{next_number_, what}).second) {
    refuse(event, "it is there already");
  }
  ++next_number_;
}

trace_player::open_object& trace_player::find(const trace_event& event) {
  const auto found = live_.find(event.object);
  if (found == live_.end()) refuse(event, "it is used but was not allocated");
  return found->second;
}

void trace_player::gather(std::size_t& row) {
  const std::size_t first = row;
  const trace_event& head = trace_.events[first];
  uses_.clear();
  ranges_.clear();
  earlier_.clear();
  ++turn_;
  double bytes = 0;
  bool writes = false;
  bool writes_tables_only = true;
  for (; row < trace_.events.size(); ++row) {
    const trace_event& event = trace_.events[row];
    if (event.action == trace_action::exists) continue;  // announced before
    if (!is_access(event) || event.step != head.step) break;
    gather_row(event);
    if (event.cls != object_class::table) bytes += static_cast<double>(event.bytes);
    if (event.action == trace_action::read) continue;
    writes = true;
    writes_tables_only = writes_tables_only && event.cls == object_class::table;
  }
  step_.op = trace_.op(head);
  step_.phase = phase_of(trace_.tag(head));
  step_.us = duration_us(first, row, bytes);
  step_.launches = device_.operation(step_.op).launches;
  step_.uses = uses_;
  step_.ranges = ranges_;
  step_.number = kept_;
  step_.plans_skip = writes && writes_tables_only;
  if (!step_.plans_skip) ++kept_;
}

void trace_player::gather_row(const trace_event& event) {
  open_object& touched = find(event);
  if (event.cls != touched.what.cls) {
    refuse(event, text("its class is '", to_string(event.cls), "', expected '", to_string(touched.what.cls),
                       "' as where it was allocated"));
  }
  if (event.offset > touched.what.bytes || event.bytes > touched.what.bytes - event.offset) {
    refuse(event, "the bytes are outside of it");
  }
  const bool writes = event.action == trace_action::write;
  if (touched.turn != turn_) {
    touched.turn = turn_;
    touched.use = uses_.size();
    touched.reading = touched.writing = 0;
    uses_.push_back({touched.number});
  }
  sim_use& use = uses_[touched.use];
  use.reads = use.reads || !writes;
  use.writes = use.writes || writes;
  use.covers = use.covers || (writes && event.bytes == touched.what.bytes);
  if (event.bytes > 0) add_range(touched, event);
}

void trace_player::add_range(open_object& touched, const trace_event& event) {
  const bool writes = event.action == trace_action::write;
  const std::uint64_t end = event.offset + event.bytes;
  std::size_t& last = writes ? touched.writing : touched.reading;
  managed_range* found = nullptr;  // the earliest one with the same bytes, or with bytes before them
  int attempts = 0;
  for (std::size_t at = last; at != 0 && attempts < merge_attempts; at = earlier_[at - 1], ++attempts) {
    managed_range& each = ranges_[at - 1];
    if (event.offset >= each.begin && event.offset <= each.end) found = &each;
  }
  if (found != nullptr) {
    found->end = std::max(found->end, end);
    return;
  }
  ranges_.push_back({touched.number, event.offset, end, writes});
  earlier_.push_back(last);
  last = ranges_.size();
}

double trace_player::duration_us(std::size_t first, std::size_t behind, double bytes) {
  const trace_event& head = trace_.events[first];
  if (options_.times == plan::time_source::costs) {
    return device_.kernel_us(trace_.op(head), bytes) * options_.kernel_scale;
  }
  // Other rows can split a step into many parts. All of them end with it, so its rows are passed once.
  step_end_ = std::max(step_end_, behind);
  while (step_end_ < trace_.events.size() && trace_.events[step_end_].step == head.step) ++step_end_;
  if (step_end_ == trace_.events.size()) {  // nothing follows the last step
    return device_.kernel_us(trace_.op(head), bytes) * options_.kernel_scale;
  }
  const trace_event& next = trace_.events[step_end_];
  if (next.time_ns < head.time_ns) refuse(next, "time goes back");
  return static_cast<double>(next.time_ns - head.time_ns) * 1e-3 * options_.kernel_scale;
}

}  // namespace halocline::memory::sim
