// SPDX-License-Identifier: Apache-2.0
// Replays of traces that were made to break them: rows that contradict each other, and steps with so many
// rows that quadratic work would take minutes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/sim/replay.hpp"
#include "memory/sim/machine.hpp"
#include "memory/sim/planned_simulation.hpp"
#include "memory/sim/trace_player.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

using memory::object_class;
using memory::trace_action;
using testing::AllOf;
using testing::HasSubstr;
namespace sim = memory::sim;

constexpr std::uint64_t many = 200'000;

/// Rows one by one, whatever they say.
struct rows {
  memory::trace result;

  void add(std::uint64_t step, trace_action action, std::uint64_t object, object_class cls,
           std::uint64_t bytes, std::uint64_t offset = 0, std::uint64_t time_ns = 0) {
    memory::trace_event event;
    event.step = step;
    event.action = action;
    event.object = object;
    event.cls = cls;
    event.bytes = bytes;
    event.offset = offset;
    event.time_ns = time_ns;
    event.op = event.tag = result.intern("add");
    result.events.push_back(event);
  }
};

sim::replay_report replayed(const memory::trace& program, const char* policy, bool steady = false,
                            std::uint64_t budget = 0) {
  sim::replay_options options;
  options.policy = policy;
  options.steady = steady;
  options.budget_bytes = budget;
  return sim::replay(program, sim::device_by_name("a40"), options);
}

/// Keeps what the steps touch.
class keeper final : public sim::simulation {
 public:
  void exists(std::uint64_t, const sim::sim_object&) override {}
  void allocate(std::uint64_t, const sim::sim_object&) override {}
  void free(std::uint64_t, const sim::sim_object&) override {}
  void step(const sim::sim_step& step) override {
    uses.assign(step.uses.begin(), step.uses.end());
    ranges.assign(step.ranges.begin(), step.ranges.end());
    us.push_back(step.us);
  }
  [[nodiscard]] sim::residency_point residency() const override { return {}; }

  std::vector<sim::sim_use> uses;  ///< of the last step
  std::vector<sim::managed_range> ranges;
  std::vector<double> us;  ///< of all steps
};

keeper play(const memory::trace& program, const sim::replay_options& options = {}) {
  keeper result;
  sim::trace_player player(program, sim::device_by_name("a40"), options);
  player.play(result, [](const sim::sim_step&) {});
  return result;
}

/// Steps whose rows call a table a ciphertext, and the other way round.
memory::trace exchanged_classes() {
  rows made;
  made.add(0, trace_action::allocate, 1, object_class::table, 4096);
  made.add(0, trace_action::allocate, 2, object_class::ciphertext, 4096);
  made.add(1, trace_action::write, 1, object_class::ciphertext, 4096);
  made.add(2, trace_action::write, 2, object_class::table, 4096);
  return made.result;
}

TEST(ReplayLimits, RowsHaveTheClassOfTheirObject) {
  for (const char* policy : {"resident", "async", "cached", "managed", "static", "lru", "planned"}) {
    for (const bool steady : {false, true}) {
      EXPECT_THAT(message_of<corrupt_data>([&] { (void)replayed(exchanged_classes(), policy, steady); }),
                  AllOf(HasSubstr("step 1"), HasSubstr("its class is 'ciphertext', expected 'table'"),
                        HasSubstr("record the trace again")))
          << policy;
    }
  }
  EXPECT_THAT(message_of<corrupt_data>([] { (void)memory::plan::make_program(exchanged_classes(), {}); }),
              HasSubstr("trace row 3 (step 1, buffer 1): its class is 'ciphertext', expected 'table'"));
}

TEST(ReplayLimits, PlannedReplaysRefuseWhatIsInNoPlan) {
  rows made;
  made.add(0, trace_action::exists, 1, object_class::ciphertext, 4096);
  made.add(1, trace_action::read, 1, object_class::ciphertext, 4096);
  const sim::device_model& device = sim::device_by_name("a40");
  sim::replay_report report;
  sim::machine clocks(device, report, nullptr);
  sim::planned_simulation program(made.result, device, {}, 1 << 30, clocks, report);
  program.exists(0, {9, 4096, object_class::table, {}, true, "stranger"});
  for (const std::uint64_t number : {0, 1}) {  // not planned; not even there
    const std::vector<sim::sim_use> uses{{number, true}};
    sim::sim_step step;
    step.uses = uses;
    EXPECT_THAT(message_of<corrupt_data>([&] { program.step(step); }),
                AllOf(HasSubstr("in no plan"), HasSubstr("expected one of 1 planned buffers")));
  }
}

TEST(ReplayLimits, PlannedReplaysRefuseStepsThatAreSplit) {
  rows made;
  made.add(0, trace_action::exists, 1, object_class::ciphertext, 4096);
  made.add(3, trace_action::read, 1, object_class::ciphertext, 4096);
  made.add(3, trace_action::allocate, 2, object_class::ciphertext, 4096);
  made.add(3, trace_action::write, 2, object_class::ciphertext, 4096);
  EXPECT_THAT(message_of<corrupt_data>([&] { (void)replayed(made.result, "planned"); }),
              AllOf(HasSubstr("step 3, object 2: allocate stands among the reads and writes"),
                    HasSubstr("expected the rows of a step together"), HasSubstr("a step of their own")));
  EXPECT_EQ(replayed(made.result, "async").steps, 2U);
  made.result.events.back().step = 4;  // as the message says
  EXPECT_EQ(replayed(made.result, "planned").steps, 2U);
}

TEST(ReplayLimits, UsesAreMergedInTheOrderOfTheirFirstRows) {
  rows made;
  for (std::uint64_t id = 0; id < 3; ++id) {
    made.add(0, trace_action::exists, id, object_class::ciphertext, 100);
  }
  for (const std::uint64_t id : {2, 0, 2, 1, 0}) {
    made.add(1, id == 0 ? trace_action::write : trace_action::read, id, object_class::ciphertext, 100);
  }
  made.add(1, trace_action::write, 2, object_class::ciphertext, 50);
  made.add(2, trace_action::read, 1, object_class::ciphertext, 100);
  const keeper last = play(made.result);
  ASSERT_EQ(last.uses.size(), 1U);  // nothing of the step before
  EXPECT_EQ(last.uses[0].object, 1U);
  made.result.events.pop_back();
  const keeper found = play(made.result);
  ASSERT_EQ(found.uses.size(), 3U);
  EXPECT_EQ(found.uses[0].object, 2U);
  EXPECT_TRUE(found.uses[0].reads && found.uses[0].writes && !found.uses[0].covers);
  EXPECT_EQ(found.uses[1].object, 0U);
  EXPECT_TRUE(!found.uses[1].reads && found.uses[1].covers);
  EXPECT_EQ(found.ranges.size(), 4U);  // 2 is read and written
}

TEST(ReplayLimits, OneStepMayUseVeryManyBuffers) {
  rows made;
  for (std::uint64_t id = 0; id < many; ++id) {
    made.add(0, trace_action::exists, id, object_class::evaluation_key, 4096);
  }
  for (std::uint64_t step = 1; step <= 3; ++step) {  // the first half, the other one, the first one again
    for (std::uint64_t i = 0; i < many / 2; ++i) {
      made.add(step, trace_action::read, i + (step == 2 ? many / 2 : 0), object_class::evaluation_key, 4096);
    }
  }
  EXPECT_EQ(replayed(made.result, "async").steps, 3U);
  EXPECT_EQ(replayed(made.result, "managed").faults, many);  // one page each
  const sim::replay_report lru = replayed(made.result, "lru", false, many / 2 * 4096);
  EXPECT_EQ(lru.loaded_bytes, 3 * many / 2 * 4096);  // every step evicts the half of the step before
}

/// What steps did before the number of comparisons was limited: each row is compared with all ranges.
std::vector<sim::managed_range> merge_all(const memory::trace& program) {
  std::vector<sim::managed_range> result;
  for (const memory::trace_event& event : program.events) {
    if (event.action == trace_action::exists) continue;
    const bool writes = event.action == trace_action::write;
    const auto found = std::find_if(result.begin(), result.end(), [&](const sim::managed_range& each) {
      return each.object == event.object && each.writes == writes && event.offset >= each.begin &&
             event.offset <= each.end;
    });
    if (found == result.end()) {
      result.push_back({event.object, event.offset, event.offset + event.bytes, writes});
    } else {
      found->end = std::max(found->end, event.offset + event.bytes);
    }
  }
  return result;
}

TEST(ReplayLimits, RangesAreMergedAsBeforeUpToALimit) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int sample = 0; sample < 100; ++sample) {
    rows made;
    for (std::uint64_t id = 0; id < 3; ++id) {
      made.add(0, trace_action::exists, id, object_class::ciphertext, 2000);
    }
    for (std::uint64_t i = 0; i < 64; ++i) {
      made.add(1, below(3) == 0 ? trace_action::write : trace_action::read, below(3),
               object_class::ciphertext, 1 + below(60), below(1900));
    }
    const std::vector<sim::managed_range> expected = merge_all(made.result);
    const std::vector<sim::managed_range> found = play(made.result).ranges;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].object, expected[i].object);
      EXPECT_EQ(found[i].begin, expected[i].begin);
      EXPECT_EQ(found[i].end, expected[i].end);
      EXPECT_EQ(found[i].writes, expected[i].writes);
    }
  }
}

TEST(ReplayLimits, OneStepMayTouchVeryManyPartsOfABuffer) {
  rows apart;
  apart.add(0, trace_action::exists, 0, object_class::ciphertext, 4 * many);
  rows behind_each_other = apart;
  for (std::uint64_t i = many; i-- > 0;) {
    apart.add(1, trace_action::read, 0, object_class::ciphertext, 1, 4 * i);
    behind_each_other.add(1, trace_action::read, 0, object_class::ciphertext, 4, 4 * (many - 1 - i));
  }
  EXPECT_EQ(play(apart.result).ranges.size(), many);
  EXPECT_EQ(play(behind_each_other.result).ranges.size(), 1U);
  EXPECT_EQ(replayed(apart.result, "managed").loaded_bytes,
            std::uint64_t{13} << 16);  // 800000 bytes, in pages
}

TEST(ReplayLimits, OneStepMayBeSplitVeryOften) {
  rows made;
  made.add(0, trace_action::exists, 0, object_class::ciphertext, 4096);
  for (std::uint64_t i = 1; i <= many; ++i) {
    made.add(1, trace_action::read, 0, object_class::ciphertext, 1, 0, 1000);
    made.add(1, trace_action::allocate, i, object_class::scratch, 1, 0, 1000);
  }
  made.add(2, trace_action::read, 0, object_class::ciphertext, 1, 0, 4000);
  made.add(5, trace_action::read, 0, object_class::ciphertext, 1, 0, 9000);
  sim::replay_options options;
  options.times = memory::plan::time_source::recorded;
  const std::vector<double> us = play(made.result, options).us;
  ASSERT_EQ(us.size(), many + 2);
  for (std::uint64_t i = 0; i < many; ++i) ASSERT_DOUBLE_EQ(us[i], 3);
  EXPECT_DOUBLE_EQ(us[many], 5);
  EXPECT_DOUBLE_EQ(us[many + 1], sim::device_by_name("a40").kernel_us("add", 1));  // nothing follows it
  options.policy = "async";
  options.steady = true;  // the rows are read twice
  EXPECT_NEAR(sim::replay(made.result, sim::device_by_name("a40"), options).compute_s,
              (3.0 * many + 5 + us.back()) * 1e-6, 1e-9);
}

}  // namespace
}  // namespace halocline::test
