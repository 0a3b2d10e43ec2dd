// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/replay.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/sim/lru_simulation.hpp"
#include "memory/sim/machine.hpp"
#include "memory/sim/placed_simulation.hpp"
#include "memory/sim/planned_simulation.hpp"
#include "memory/sim/trace_player.hpp"

namespace halocline::memory::sim {
namespace {

/// Collects phases and samples of the residency while a program runs.
class recorder {
 public:
  recorder(replay_report& report, machine& clocks, std::uint64_t steps, std::uint32_t points)
      : report_(report), clocks_(clocks), stride_(steps / points + 1) {}

  void after(const sim_step& step, residency_point now) {
    now.time_s = clocks_.device_us() / us_per_s;
    report_.peak_resident_bytes = std::max(report_.peak_resident_bytes, now.resident_bytes);
    report_.peak_pool_bytes = std::max(report_.peak_pool_bytes, now.pool_bytes);
    report_.peak_managed_bytes = std::max(report_.peak_managed_bytes, now.managed_bytes);
    if (report_.steps++ % stride_ == 0) {
      report_.timeline.push_back(now);
      clocks_.spans().add(now);
    }
    if (step.phase != phase_) begin_phase(step.phase);
    if (!phase_.empty()) {
      report_.phases.back().seconds = now.time_s - report_.phases.back().begin_s;
    }
    last_s_ = now.time_s;
  }

 private:
  void begin_phase(std::string_view phase) {
    phase_ = phase;
    if (!phase.empty()) report_.phases.push_back({std::string(phase), last_s_, 0});
  }

  replay_report& report_;
  machine& clocks_;
  std::uint64_t stride_;
  std::string_view phase_;
  double last_s_ = 0;
};

/// Largest sum of buffers that live at once.
std::uint64_t peak_live_bytes(const trace& recorded) {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const trace_event& event : recorded.events) {
    if (event.action == trace_action::exists) live += event.bytes;
  }
  for (const trace_event& event : recorded.events) {
    if (event.action == trace_action::allocate) live += event.bytes;
    if (event.action == trace_action::free) live -= std::min(live, event.bytes);
    peak = std::max(peak, live);
  }
  return std::max(peak, live);
}

/// Most bytes that one step touches.
std::uint64_t largest_step_bytes(const trace& recorded) {
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> touched;  // begin and end
  std::uint64_t most = 0;
  const auto close_step = [&] {
    std::uint64_t bytes = 0;
    for (const auto& [object, range] : touched) bytes += range.second - range.first;
    most = std::max(most, bytes);
    touched.clear();
  };
  std::uint64_t step = 0;
  for (const trace_event& event : recorded.events) {
    if (event.action != trace_action::read && event.action != trace_action::write) continue;
    if (event.step != step) close_step();
    step = event.step;
    const std::uint64_t end = event.offset + event.bytes;
    const auto [at, fresh] = touched.try_emplace(event.object, event.offset, end);
    at->second = {std::min(at->second.first, event.offset), std::max(at->second.second, end)};
  }
  close_step();
  return most;
}

/// Refuses budgets that cannot hold one step as a whole. A driver would serve them from the host, page after
/// page, or not at all; the runtime refuses them too.
void expect_room(std::uint64_t budget_bytes, std::uint64_t needed, const device_model& device,
                 const replay_options& options) {
  HALOCLINE_EXPECTS(budget_bytes >= needed, out_of_memory, "policy '", options.policy, "' on '", device.name,
                    "': the largest step of the program needs at least ", format_bytes(needed), " (", needed,
                    " bytes) at once, budget ", format_bytes(budget_bytes));
}

std::uint64_t budget_of(const device_model& device, const replay_options& options) {
  const auto usable = static_cast<std::uint64_t>(device.usable_bytes());
  HALOCLINE_EXPECTS(options.budget_bytes <= usable, invalid_argument, "replay: budget of ",
                    options.budget_bytes, " bytes, but programs on '", device.name, "' may use ", usable);
  return options.budget_bytes == 0 ? usable : options.budget_bytes;
}

void check(const replay_options& options) {
  HALOCLINE_EXPECTS(std::isfinite(options.kernel_scale) && options.kernel_scale > 0, invalid_argument,
                    "replay: kernel scale is ", options.kernel_scale, "; expected a positive number");
  HALOCLINE_EXPECTS(options.timeline_points >= 2, invalid_argument, "replay: ", options.timeline_points,
                    " points for the timeline; expected at least 2");
  HALOCLINE_EXPECTS(!options.steady || !options.only_keys_cold, invalid_argument,
                    "replay: steady runs begin with what another run left, others with all but the keys; "
                    "expected one of steady and only_keys_cold");
}

std::unique_ptr<simulation> make_simulation(const trace& recorded, const device_model& device,
                                            const replay_options& options, std::uint64_t budget_bytes,
                                            machine& clocks, replay_report& report) {
  switch (make_policy(options.policy, options.constants).traits().order) {
    case eviction::least_recent_use:
      return std::make_unique<lru_simulation>(recorded, device, options, budget_bytes, clocks, report);
    case eviction::planned:
      return std::make_unique<planned_simulation>(recorded, device, options, budget_bytes, clocks, report);
    case eviction::least_recent_migration:
      expect_room(budget_bytes, largest_step_bytes(recorded), device, options);
      break;
    case eviction::none:
      break;
  }
  return std::make_unique<placed_simulation>(device, options, budget_bytes, peak_live_bytes(recorded), clocks,
                                             report);
}

}  // namespace

replay_report replay(const trace& recorded, const device_model& device, const replay_options& options) {
  validate(device);
  check(options);
  replay_report report;
  report.device = device.name;
  report.policy = options.policy;
  report.budget_bytes = budget_of(device, options);
  for (const trace_event& event : recorded.events) {
    if (event.action == trace_action::allocate) ++report.allocations;
    if (event.action == trace_action::free) ++report.frees;
  }
  trace_player player(recorded, device, options);
  const replay_report head = report;
  machine clocks(device, report, options.steady ? nullptr : options.spans);
  const std::unique_ptr<simulation> program =
      make_simulation(recorded, device, options, report.budget_bytes, clocks, report);
  if (options.steady) {
    player.play(*program, [](const sim_step&) {});
    report = head;
    clocks.restart(options.spans);
    program->restart();
  }
  recorder records(report, clocks, player.steps(), options.timeline_points);
  player.play(*program, [&](const sim_step& step) { records.after(step, program->residency()); });
  report.host_wait_s += std::max(0.0, clocks.host_us() - clocks.device_us()) / us_per_s;
  report.total_s = clocks.now_us() / us_per_s;
  report.stall_s = report.total_s - report.compute_s;
  return report;
}

}  // namespace halocline::memory::sim
