// SPDX-License-Identifier: Apache-2.0
// Replays of random programs under all policies, budgets and devices.
#include "halocline/memory/sim/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/policy/decision_file.hpp"
#include "support/trace_writer.hpp"

namespace halocline::test {
namespace {

using memory::object_class;
namespace plan = memory::plan;
namespace sim = memory::sim;

class random_program {
 public:
  random_program(std::uint64_t seed, const sim::device_model& clock) : random_(seed), out_(clock) {
    for (std::uint64_t i = 2 + below(12); i > 0; --i) {
      const object_class cls = below(3) == 0 ? object_class::plaintext : object_class::evaluation_key;
      constant_.push_back(out_.existing(cls, size(), "constant@" + std::to_string(i)));
    }
    for (std::uint64_t i = 20 + below(150); i > 0; --i) step();
  }

  [[nodiscard]] const memory::trace& result() const { return out_.result(); }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::uint64_t size() { return 1 + below(below(3) == 0 ? 8 << 20 : 200'000); }

  void step() {
    static const std::vector<std::string> operations{"add", "ntt", "base_convert", "unheard_of"};
    if (below(6) == 0) out_.phase(below(2) == 0 ? "" : "phase " + std::to_string(below(3)));
    std::vector<trace_writer::access> operands;
    for (std::uint64_t i = below(4); i > 0; --i)
      operands.push_back({constant_[below(constant_.size())], false});
    for (std::uint64_t i = below(3); i > 0 && !made_.empty(); --i) {
      operands.push_back({made_[below(made_.size())], below(2) == 0});
    }
    std::vector<std::uint64_t> temporaries;
    for (std::uint64_t i = below(3); i > 0; --i) {
      temporaries.push_back(out_.allocate(object_class::scratch, size(), "scratch"));
      operands.push_back({temporaries.back(), true});
    }
    if (made_.size() < 2 || below(3) == 0) {
      made_.push_back(out_.allocate(object_class::ciphertext, size(), "ciphertext"));
      operands.push_back({made_.back(), true});
    }
    if (operands.empty()) operands.push_back({constant_.front(), false});
    out_.step(operations[below(operations.size())], operands);
    for (const std::uint64_t each : temporaries) out_.free(each);
    if (made_.size() > 1 + below(6)) {
      std::swap(made_[below(made_.size())], made_.back());
      out_.free(made_.back());
      made_.pop_back();
    }
  }

  std::mt19937_64 random_;
  trace_writer out_;
  std::vector<std::uint64_t> constant_;
  std::vector<std::uint64_t> made_;
};

void expect_sound(const sim::replay_report& report, double compute_s) {
  EXPECT_LE(report.peak_resident_bytes, report.budget_bytes);
  EXPECT_NEAR(report.compute_s - report.regenerate_s, compute_s, 1e-9 + 1e-9 * compute_s);
  EXPECT_GE(report.total_s, report.compute_s);
  EXPECT_NEAR(report.total_s, report.compute_s + report.fault_s + report.transfer_wait_s + report.host_wait_s,
              1e-9 + 1e-9 * report.total_s);
  EXPECT_LE(report.load_busy_s, report.total_s * (1 + 1e-9));
  EXPECT_LE(report.store_busy_s, report.total_s * (1 + 1e-9) + 1);  // the last write-backs may end later
  double in_phases = 0;
  for (const sim::phase_time& each : report.phases) {
    EXPECT_GE(each.seconds, 0);
    in_phases += each.seconds;
  }
  EXPECT_LE(in_phases, report.total_s * (1 + 1e-9));
  EXPECT_TRUE(std::is_sorted(report.timeline.begin(), report.timeline.end(),
                             [](const auto& a, const auto& b) { return a.time_s < b.time_s; }));
}

void expect_equal(const sim::replay_report& a, const sim::replay_report& b) {
  EXPECT_EQ(a.total_s, b.total_s);
  EXPECT_EQ(a.loaded_bytes, b.loaded_bytes);
  EXPECT_EQ(a.phases, b.phases);
}

class ReplayProperty : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ReplayProperty, testing::Range<std::uint64_t>(0, 40));

TEST_P(ReplayProperty, HoldsForEveryPolicyWithinEveryBudget) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<std::string> devices = sim::device_names();
  const sim::device_model& device = sim::device_by_name(devices[seed % devices.size()]);
  const memory::trace program = random_program(seed, device).result();
  sim::replay_options options;
  options.policy = "async";
  const sim::replay_report resident = sim::replay(program, device, options);
  const plan::program planned = plan::make_program(program, device.costs());
  const std::uint64_t minimum = plan::minimum_capacity(planned);
  const std::uint64_t most = std::max(minimum, planned.footprint_bytes());
  for (const std::uint64_t budget : {minimum, minimum + (most - minimum) / 3, most}) {
    options.budget_bytes = budget;
    options.constants.decisions =
        std::make_shared<std::vector<std::uint8_t>>(memory::make_decisions(program, {1e9, budget / 2}));
    for (const char* policy : {"managed", "static", "profiled", "dynamic", "lru", "planned"}) {
      SCOPED_TRACE(std::string(policy) + ", " + std::to_string(budget) + " bytes on " + device.name);
      options.policy = policy;
      const sim::replay_report report = sim::replay(program, device, options);
      expect_sound(report, resident.compute_s);
      expect_equal(report, sim::replay(program, device, options));
      if (std::string(policy) != "lru" && std::string(policy) != "planned") continue;
      EXPECT_GE(report.loaded_bytes + report.regenerated_bytes, plan::lower_bound_bytes(planned, budget));
    }
  }
}

TEST_P(ReplayProperty, BelowTheMinimumNothingIsReplayed) {
  const std::uint64_t seed = GetParam();
  const sim::device_model& device = sim::device_by_name("h200");
  const memory::trace program = random_program(seed, device).result();
  sim::replay_options options;
  options.budget_bytes = plan::minimum_capacity(plan::make_program(program, device.costs())) - 4096;
  for (const char* policy : {"resident", "async", "cached", "lru", "planned"}) {
    if (options.budget_bytes == 0) break;
    options.policy = policy;
    EXPECT_THROW((void)sim::replay(program, device, options), out_of_memory) << policy << ", seed " << seed;
  }
}

}  // namespace
}  // namespace halocline::test
