// SPDX-License-Identifier: Apache-2.0
// What the hybrid unified-memory paper found, on simulated devices. No time is measured here: replays are
// deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "halocline/memory/policy/decision_file.hpp"
#include "halocline/memory/sim/replay.hpp"
#include "support/bootstrap_trace.hpp"

namespace halocline::test {
namespace {

namespace sim = memory::sim;

/// Bytes that live at once, at most.
std::uint64_t footprint(const memory::trace& program) {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const memory::trace_event& event : program.events) {
    if (event.action == memory::trace_action::free) live -= event.bytes;
    if (event.action == memory::trace_action::allocate || event.action == memory::trace_action::exists) {
      live += event.bytes;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

sim::replay_report run(const memory::trace& program, const sim::device_model& device, const char* policy,
                       std::uint64_t budget) {
  sim::replay_options options;
  options.policy = policy;
  options.budget_bytes = budget;
  if (options.policy == "profiled") {
    // Everything that is freed, up to half of the memory: the paper's best thresholds are 40 to 65 %.
    options.constants.decisions =
        std::make_shared<std::vector<std::uint8_t>>(memory::make_decisions(program, {1e9, budget / 2}));
  }
  return sim::replay(program, device, options);
}

/// A device, and a bootstrap-like program of 67 keys that has twice the bytes that it may use.
struct oversubscribed {
  const char* device;
  std::uint64_t limb_bytes;

  friend std::ostream& operator<<(std::ostream& out, const oversubscribed& each) {
    return out << each.device;
  }
};

class ReplayOrderings : public testing::TestWithParam<oversubscribed> {
 protected:
  ReplayOrderings() {
    bootstrap_shape shape;
    shape.limb_bytes = GetParam().limb_bytes;
    program_ = make_bootstrap_trace(device_, shape);
    budget_ = footprint(program_) / 2;
  }
  [[nodiscard]] sim::replay_report replayed(const char* policy) const {
    return run(program_, device_, policy, budget_);
  }

  const sim::device_model& device_ = sim::device_by_name(GetParam().device);
  memory::trace program_;
  std::uint64_t budget_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Devices, ReplayOrderings,
                         testing::Values(oversubscribed{"gtx1050", 1 << 16},
                                         oversubscribed{"gtx1660ti", 1 << 18},
                                         oversubscribed{"rtx4090", 1 << 18}, oversubscribed{"a40", 1 << 18},
                                         oversubscribed{"h200", 1 << 18}),
                         testing::PrintToStringParamName());

// Sections III-A and IV.
TEST_P(ReplayOrderings, ManagedIsSlowestStaticIsAFifthFaster) {
  const double managed = replayed("managed").total_s;
  EXPECT_LE(replayed("static").total_s, 0.8 * managed);
  const double dynamic = replayed("dynamic").total_s;
  EXPECT_LT(dynamic, managed);
  EXPECT_LT(replayed("profiled").total_s, dynamic);
}

TEST_P(ReplayOrderings, PlannedIsTwiceAsFastAsTheBestOfThem) {
  double best = replayed("managed").total_s;
  for (const char* policy : {"static", "profiled", "dynamic"}) {
    best = std::min(best, replayed(policy).total_s);
  }
  const sim::replay_report planned = replayed("planned");
  EXPECT_LE(2 * planned.total_s, best);
  EXPECT_LE(planned.peak_resident_bytes, budget_);
  EXPECT_LT(planned.total_s, replayed("lru").total_s);
}

/// Standard deviation of the durations of one kind of operation, in seconds.
double spread(const sim::replay_report& report, const std::string& operation) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const sim::phase_time& each : report.phases) {
    if (each.phase.find("/" + operation + " ") == std::string::npos) continue;
    sum += each.seconds;
    squares += each.seconds * each.seconds;
    ++count;
  }
  return std::sqrt(std::max(0.0, squares / count - sum * sum / count / count));
}

// Section IV: managed memory has "the slowest performance with the greatest variance in all tests". Here that
// holds for rotations. Multiplications share one key: all but the first of a row find it on the device.
TEST_P(ReplayOrderings, RotationsVaryMostUnderManaged) {
  const double managed = spread(replayed("managed"), "rotate");
  for (const char* policy : {"static", "profiled", "dynamic", "lru", "planned"}) {
    EXPECT_GT(managed, spread(replayed(policy), "rotate")) << policy;
  }
}

// Section III-A: single operations fluctuate under the baseline and are more stable under the static scheme.
// Against `profiled` and `dynamic` this does not come out: without scratch among the managed blocks each
// migration of a key evicts, and copies, as many bytes of other keys; see docs/concepts/simulated_devices.md.
TEST_P(ReplayOrderings, SingleOperationsAreMoreStableUnderTheStaticScheme) {
  bootstrap_shape shape;
  shape.limb_bytes = GetParam().limb_bytes;
  const memory::trace program = bootstrap_writer(device_, shape).write_operations(100);
  const sim::replay_report managed = run(program, device_, "managed", budget_);
  const sim::replay_report hybrid = run(program, device_, "static", budget_);
  for (const char* operation : {"multiply", "rotate", "conjugate"}) {
    EXPECT_GT(spread(managed, operation), spread(hybrid, operation)) << operation;
  }
}

/// Seconds of the last multiplication of a program of ten.
double last_multiplication(const sim::device_model& device, const char* policy) {
  bootstrap_shape shape;
  shape.stages = 1;
  shape.babies = shape.giants = 1;
  shape.multiplications = 10;
  shape.repetitions = 1;
  const memory::trace program = make_bootstrap_trace(device, shape);
  const sim::replay_report report = run(program, device, policy, 0);
  double result = 0;
  for (const sim::phase_time& each : report.phases) {
    if (each.phase.find("/multiply") != std::string::npos) result = each.seconds;
  }
  return result;
}

// Section III-A, figures 1 and 2: 4.8 ms against 24 ms although everything fits.
TEST(ReplayPaper, ManagedMultipliesSeveralTimesSlowerThoughEverythingFits) {
  const sim::device_model& a40 = sim::device_by_name("a40");
  const double ratio = last_multiplication(a40, "managed") / last_multiplication(a40, "async");
  EXPECT_GT(ratio, 3);
  EXPECT_LT(ratio, 8);
  // Section III-A: the hybrid does not reach full async either.
  EXPECT_GT(last_multiplication(a40, "static"), last_multiplication(a40, "async"));
  EXPECT_LT(last_multiplication(a40, "static"), last_multiplication(a40, "managed"));
}

// Section III-B: data of twice the memory makes operations "almost one magnitude of order slower".
TEST(ReplayPaper, OversubscribedKernelsAreAnOrderOfMagnitudeSlower) {
  const sim::device_model& device = sim::device_by_name("rtx4090");
  const memory::trace program = make_bootstrap_trace(device);
  const std::uint64_t whole = footprint(program);
  const double fits = run(program, device, "static", whole).phases.back().seconds;
  EXPECT_GT(run(program, device, "static", whole / 2).phases.back().seconds, 2 * fits);
}

}  // namespace
}  // namespace halocline::test
