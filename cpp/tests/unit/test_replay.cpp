// SPDX-License-Identifier: Apache-2.0
// Replays of programs so small that their times can be computed by hand.
#include "halocline/memory/sim/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "halocline/core/error.hpp"
#include "support/message_of.hpp"
#include "support/trace_writer.hpp"

namespace halocline::test {
namespace {

using memory::object_class;
namespace sim = memory::sim;

constexpr std::uint64_t mib = 1 << 20;
constexpr double us = 1e-6;
constexpr double copy = 1048.576;  // microseconds per MiB over a link of 1 GB/s

/// A kernel takes 100 us, its launch 10; links of 1 GB/s; populating costs 50 us per MiB.
sim::device_model toy() {
  sim::device_model model = sim::device_by_name("a40");
  model.name = "toy";
  model.capacity_bytes = 64 * mib;
  model.reserved_bytes = 0;
  model.load_bytes_per_s = model.store_bytes_per_s = model.remote_bytes_per_s = 1e9;
  model.both_bytes_per_s = 2e9;
  model.copy_us = 0;
  model.launch_us = 10;
  model.pool_allocate_us = 2;
  model.pool_free_us = 1;
  model.plain_allocate_us = 40;
  model.plain_allocate_us_per_mib = 1;
  model.plain_free_us = 16;
  model.managed_allocate_us = model.managed_free_us = 20;
  model.fault_batch_us = 7;
  model.migrate_us_per_mib = 100;
  model.populate_us_per_mib = 50;
  model.evict_us_per_mib = 30;
  model.prefetch_us_per_mib = 0;
  model.operations.clear();
  model.other = {1, 100, 0, "test"};
  return model;
}

sim::replay_report run(const memory::trace& program, const char* policy, std::uint64_t budget = 0,
                       const sim::device_model& device = toy()) {
  sim::replay_options options;
  options.policy = policy;
  options.budget_bytes = budget;
  options.loose_bytes = 0;  // so that budgets can be counted in keys
  options.allow_resize = true;
  return sim::replay(program, device, options);
}

/// One buffer, two kernels, and the buffer's free.
memory::trace two_kernels() {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t a = out.allocate(object_class::ciphertext, mib, "a");
  out.step("add", {{a, true}});
  out.step("add", {{a, false}});
  out.free(a);
  return out.result();
}

TEST(Replay, TheHostRunsAheadOfTheDevice) {
  const sim::replay_report report = run(two_kernels(), "async");
  EXPECT_DOUBLE_EQ(report.total_s, 212 * us);  // allocation 2, launch 10, kernels 200
  EXPECT_DOUBLE_EQ(report.compute_s, 200 * us);
  EXPECT_DOUBLE_EQ(report.host_wait_s, 12 * us);
  EXPECT_DOUBLE_EQ(report.stall_s, 12 * us);
  EXPECT_DOUBLE_EQ(report.allocate_s, 2 * us);
  EXPECT_DOUBLE_EQ(report.free_s, 1 * us);
  EXPECT_EQ(report.synchronize_s, 0);
  EXPECT_EQ(report.peak_pool_bytes, mib);
  EXPECT_EQ(report.steps, 2U);
  EXPECT_EQ(report.allocations, 1U);
}

TEST(Replay, AFullQueueHoldsTheHost) {
  sim::device_model device = toy();
  device.queue_depth = 1;
  // The second launch begins when the first kernel is done, at 112.
  EXPECT_DOUBLE_EQ(run(two_kernels(), "async", 0, device).total_s, 222 * us);
}

TEST(Replay, FreesOfManagedMemorySynchronize) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t a = out.allocate(object_class::scratch, mib, "a");
  const std::uint64_t b = out.allocate(object_class::ciphertext, mib, "b");
  out.step("add", {{a, true}, {b, true}});
  out.free(a);
  out.step("add", {{b, true}});
  const sim::replay_report managed = run(out.result(), "managed");
  // Allocations 40, launch 10, kernel 100, 2 MiB populated 100, one batch of 32 faults 7; free 20, launch 10,
  // kernel 100.
  EXPECT_DOUBLE_EQ(managed.total_s, 387 * us);
  EXPECT_DOUBLE_EQ(managed.fault_s, 107 * us);
  EXPECT_DOUBLE_EQ(managed.synchronize_s, 207 * us);
  EXPECT_EQ(managed.faults, 32U);
  EXPECT_EQ(managed.fault_batches, 1U);
  const sim::replay_report hybrid = run(out.result(), "static");
  // Allocations 22, launch 10, kernel 100, 1 MiB populated 50, a batch 7; kernel 100.
  EXPECT_DOUBLE_EQ(hybrid.total_s, 289 * us);
  EXPECT_EQ(hybrid.synchronize_s, 0);
}

/// Keys of 1 MiB, used in the order of `uses`.
memory::trace keys_in_order(std::size_t count, const std::vector<std::size_t>& uses) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(out.existing(object_class::evaluation_key, mib, "key@" + std::to_string(i + 1)));
  }
  const std::uint64_t x = out.existing(object_class::scratch, 4096, "x");
  for (const std::size_t each : uses) out.step("add", {{keys[each], false}, {x, false}, {x, true}});
  return out.result();
}

TEST(Replay, LruLoadsOnDemandAndWaits) {
  const sim::replay_report report = run(keys_in_order(3, {0, 1, 2, 0}), "lru", 2 * mib + 4096);
  EXPECT_EQ(report.loaded_bytes, 4 * mib);
  EXPECT_EQ(report.stored_bytes, 0U);
  EXPECT_NEAR(report.total_s, 4 * (copy + 110) * us, 1e-12);
  EXPECT_NEAR(report.transfer_wait_s, 4 * copy * us, 1e-12);
  EXPECT_EQ(report.peak_resident_bytes, 2 * mib + 4096);
}

TEST(Replay, PlannedLoadsAheadAndKeepsWhatIsNeededNext) {
  const sim::replay_report report = run(keys_in_order(3, {0, 1, 2, 0}), "planned", 2 * mib + 4096);
  EXPECT_EQ(report.loaded_bytes, 3 * mib);
  // The first two loads follow each other; the third waits until key 1 is done, key 0 is still there.
  EXPECT_NEAR(report.total_s, (2 * copy + 100 + copy + 200) * us, 25 * us);
  EXPECT_LE(report.peak_resident_bytes, 2 * mib + 4096);
}

TEST(Replay, AFrameThatGrowsLoadsAndTakesOnlyWhatItLacks) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t key = out.existing(object_class::evaluation_key, 4 * mib, "key@0123456789abcdef");
  const std::uint64_t other = out.existing(object_class::evaluation_key, 3 * mib, "key@0123456789abcdee");
  const std::uint64_t x = out.existing(object_class::scratch, 4096, "x");
  // While the other key is needed there is room for a prefix only.
  out.step("add", {{key, false, mib}, {x, true}});
  out.step("add", {{key, false, mib}, {other, false}, {x, true}});
  out.step("add", {{key, false}, {x, true}});
  const sim::replay_report report = run(out.result(), "planned", 4 * mib + 4096);
  EXPECT_EQ(report.loaded_bytes, 7 * mib);
  EXPECT_EQ(report.peak_resident_bytes, 4 * mib + 4096);

  memory::plan::plan made;
  sim::replay_options options;
  options.budget_bytes = 4 * mib + 4096;
  options.loose_bytes = 0;
  options.allow_resize = true;
  options.made = &made;
  EXPECT_EQ(sim::replay(out.result(), clock, options).loaded_bytes, 7 * mib);
  EXPECT_EQ(made.expected.loaded_bytes, 7 * mib);
  EXPECT_EQ(made.objects.size(), 3U);
  // Frames of a card keep their length, and so do those of whole objects: 4 MiB of the key, 1 beside the 3 of
  // the other one, and 4 again.
  options.allow_resize = false;
  EXPECT_GE(sim::replay(out.result(), clock, options).loaded_bytes, 8 * mib);
  options.allow_prefixes = false;
  EXPECT_EQ(sim::replay(out.result(), clock, options).loaded_bytes, 12 * mib);
  EXPECT_EQ(made.expected.loaded_bytes, 12 * mib);
}

TEST(Replay, OnlyKeysMayBeCold) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t key = out.existing(object_class::evaluation_key, 2 * mib, "key@0123456789abcdef");
  const std::uint64_t weight = out.existing(object_class::plaintext, mib, "weight@0123456789abcdee");
  const std::uint64_t table = out.existing(object_class::table, mib, "table");
  const std::uint64_t x = out.existing(object_class::scratch, 4096, "x");
  out.step("add", {{key, false}, {weight, false}, {table, false}, {x, true}});
  sim::replay_options options;
  options.policy = "planned";
  memory::plan::plan made;
  options.made = &made;
  for (const bool cold : {false, true}) {
    options.only_keys_cold = cold;
    options.budget_bytes = 8 * mib;
    const sim::replay_report report = sim::replay(out.result(), clock, options);
    EXPECT_EQ(report.loaded_bytes, cold ? 2 * mib : 4 * mib);
    EXPECT_GE(report.peak_resident_bytes, 4 * mib);
  }
  for (const memory::plan::object& each : made.objects) {
    EXPECT_EQ(each.identity != 0, each.cls != object_class::table && each.cls != object_class::scratch);
  }
}

/// Three keys that plans recognize, in turn; the last step makes a result that the program keeps.
memory::trace keys_in_turn() {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t x = out.existing(object_class::scratch, 4096, "x");
  std::vector<std::uint64_t> keys;
  for (const char* each : {"key@0123456789abcde1", "key@0123456789abcde2", "key@0123456789abcde3"}) {
    keys.push_back(out.existing(object_class::evaluation_key, mib, each));
  }
  for (const std::uint64_t each : keys) out.step("add", {{each, false}, {x, true}});
  const std::uint64_t made = out.allocate(object_class::ciphertext, 4096, "result");
  out.step("add", {{x, false}, {made, true}});
  return out.result();
}

TEST(Replay, SteadyRunsFindWhatOthersLeft) {
  const auto loaded = [](const char* policy, std::uint64_t budget, bool steady) {
    sim::replay_options options;
    options.policy = policy;
    options.budget_bytes = budget;
    options.loose_bytes = 0;
    options.steady = steady;
    return sim::replay(keys_in_turn(), toy(), options).loaded_bytes;
  };
  const std::uint64_t room_for_all = 4 * mib, room_for_two = 2 * mib + 8192;
  for (const char* policy : {"planned", "lru", "managed"}) {
    EXPECT_GE(loaded(policy, room_for_all, false), 3 * mib) << policy;
    EXPECT_LE(loaded(policy, room_for_all, true), 8192U) << policy;
  }
  // Keys come in turn: the least recently used one is always the next. A plan keeps one and loads two.
  EXPECT_EQ(loaded("lru", room_for_two, true), 3 * mib);
  const std::uint64_t planned = loaded("planned", room_for_two, true);
  EXPECT_GE(planned, mib);
  EXPECT_LE(planned, 2 * mib + 8192);
}

TEST(Replay, SteadyRunsAreTimedFromTheirOwnBegin) {
  sim::replay_options options;
  options.policy = "planned";
  options.budget_bytes = 4 * mib;
  options.steady = true;
  memory::timeline spans;
  options.spans = &spans;
  const sim::replay_report report = sim::replay(keys_in_turn(), toy(), options);
  EXPECT_EQ(report.steps, 4U);
  EXPECT_NEAR(report.total_s, 413 * us,
              5 * us);  // 4 kernels, a launch, an allocation, the free of the last result
  EXPECT_NEAR(report.compute_s, 400 * us, 1e-9);
  EXPECT_LE(report.peak_resident_bytes, options.budget_bytes);
  for (const auto& each : spans.spans) EXPECT_LE(each.end_ns, 420'000U);
  const sim::replay_report again = sim::replay(keys_in_turn(), toy(), options);
  EXPECT_EQ(again.total_s, report.total_s);

  options.only_keys_cold = true;
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)sim::replay(keys_in_turn(), toy(), options); }),
              testing::HasSubstr("only_keys_cold"));
}

TEST(Replay, ManagedKeysMigrateAndEvictionsCopy) {
  const memory::trace program = keys_in_order(3, {0, 1, 2, 0});
  const std::uint64_t budget = 2 * mib + 65536;
  const sim::replay_report managed = run(program, "managed", budget);
  // Migrations: 0 x 1 | 2 pushes 0 out | 0 pushes x out, which is older than 1, and 1 | x, which is needed
  // too.
  EXPECT_EQ(managed.loaded_bytes, 4 * mib + 2 * 65536);
  EXPECT_EQ(managed.stored_bytes, 2 * mib + 65536);
  EXPECT_EQ(managed.fault_batches, 4U);
  const double in = (4 + 2.0 / 16) * (100 + copy);
  const double out = (2 + 1.0 / 16) * (30 + copy);
  EXPECT_NEAR(managed.fault_s, (in + out + 4 * 7) * us, 1e-12);
  const sim::replay_report hybrid = run(program, "static", budget);
  EXPECT_EQ(hybrid.stored_bytes, 0U);  // read-mostly: the host has a copy
  EXPECT_EQ(hybrid.loaded_bytes, 4 * mib);
}

TEST(Replay, CiphertextsAreWrittenBackOnce) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t a = out.allocate(object_class::ciphertext, mib, "a");
  const std::uint64_t b = out.allocate(object_class::ciphertext, mib, "b");
  for (int i = 0; i < 3; ++i) {
    out.step("add", {{a, i == 0}});
    out.step("add", {{b, i == 0}});
  }
  const sim::replay_report report = run(out.result(), "lru", mib);
  EXPECT_EQ(report.stored_bytes, 2 * mib);
  EXPECT_EQ(report.loaded_bytes, 4 * mib);
  const sim::replay_report planned = run(out.result(), "planned", mib);
  EXPECT_EQ(planned.stored_bytes, 2 * mib);
  EXPECT_EQ(planned.loaded_bytes, 4 * mib);
}

TEST(Replay, CachedKeepsBlocksAndFlushesThemUnderPressure) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  for (const std::uint64_t size : {mib, mib / 2, 2 * mib}) {
    const std::uint64_t a = out.allocate(object_class::scratch, size, "a");
    out.step("add", {{a, true}});
    out.free(a);
  }
  // 1 MiB is made (41), half of it is re-used (0); 2 MiB do not fit beside it: wait for the kernels, free the
  // block (16), make a new one (42).
  const sim::replay_report report = run(out.result(), "cached", 2 * mib);
  EXPECT_DOUBLE_EQ(report.total_s, (41 + 10 + 200 + 16 + 42 + 10 + 100) * us);
  EXPECT_DOUBLE_EQ(report.synchronize_s, (41 + 10 + 200 - 61) * us);
  EXPECT_EQ(report.peak_resident_bytes, 2 * mib);
}

TEST(Replay, PoliciesThatMoveNothingNameTheBudgetThatTheyNeed) {
  const memory::trace program = keys_in_order(3, {0});
  for (const char* policy : {"resident", "async", "cached"}) {
    const std::string message = message_of<out_of_memory>([&] { (void)run(program, policy, 2 * mib); });
    EXPECT_THAT(message, testing::HasSubstr("3149824 bytes")) << policy;  // three keys and x
    EXPECT_NO_THROW((void)run(program, policy, 3149824)) << policy;
  }
}

TEST(Replay, PoliciesThatMoveNameTheStepThatDoesNotFit) {
  const memory::trace program = keys_in_order(2, {0, 1});
  EXPECT_THAT(message_of<out_of_memory>([&] { (void)run(program, "lru", mib); }),
              testing::AllOf(testing::HasSubstr("add needs"),
                             testing::HasSubstr("The whole program needs at least 1.0 MiB (1052672 bytes)")));
  EXPECT_THROW((void)run(program, "planned", mib), out_of_memory);
}

TEST(Replay, ManagedPoliciesRefuseWhatCannotHoldAStep) {
  const memory::trace program = keys_in_order(2, {0, 1});
  for (const char* policy : {"managed", "static", "dynamic"}) {
    EXPECT_NO_THROW((void)run(program, policy, mib + 4096)) << policy;
    EXPECT_THAT(message_of<out_of_memory>([&] { (void)run(program, policy, mib + 4095); }),
                testing::HasSubstr("needs at least 1.0 MiB (1052672 bytes) at once"))
        << policy;
  }
}

TEST(Replay, DynamicAndProfiledUseThePoolAsToldByTheirPast) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t a = out.allocate(object_class::scratch, mib, "a");
    out.step("add", {{a, true}});
    out.free(a);
  }
  const sim::replay_report dynamic = run(out.result(), "dynamic");
  EXPECT_EQ(dynamic.faults, 10U * 16);  // ten managed ones, then the pool
  EXPECT_EQ(dynamic.peak_pool_bytes, mib);
  sim::replay_options options;
  options.policy = "profiled";
  options.constants.decisions =
      std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{1, 1, 1});
  EXPECT_EQ(sim::replay(out.result(), toy(), options).faults, 9U * 16);
}

TEST(Replay, ReportsPhases) {
  const sim::device_model clock = toy();
  trace_writer out(clock);
  const std::uint64_t a = out.existing(object_class::ciphertext, mib, "a");
  for (const char* phase : {"layer/rotate", "layer/rotate", "", "layer/rotate", "add"}) {
    out.phase(phase);
    out.step("add", {{a, true}});
  }
  const sim::replay_report report = run(out.result(), "async");
  ASSERT_EQ(report.phases.size(), 3U);
  EXPECT_EQ(report.phases[0].phase, "layer/rotate");
  EXPECT_DOUBLE_EQ(report.phases[0].seconds, 210 * us);
  EXPECT_DOUBLE_EQ(report.phases[1].begin_s, 310 * us);
  EXPECT_DOUBLE_EQ(report.phases[1].seconds, 100 * us);
  EXPECT_EQ(report.phases[2].phase, "add");
}

TEST(Replay, SamplesTheResidency) {
  const memory::trace program = keys_in_order(2, std::vector<std::size_t>(1000, 0));
  sim::replay_options options;
  options.policy = "lru";
  options.timeline_points = 10;
  const sim::replay_report report = sim::replay(program, toy(), options);
  EXPECT_LE(report.timeline.size(), 10U);
  EXPECT_GE(report.timeline.size(), 5U);
  EXPECT_EQ(report.timeline.back().resident_bytes, mib + 4096);
  EXPECT_EQ(report.timeline.back().pool_bytes, 4096U);
}

TEST(Replay, TakesTimesFromTheTraceAndScalesThem) {
  memory::trace program = two_kernels();
  for (memory::trace_event& event : program.events) event.time_ns = event.step * 5000;
  sim::replay_options options;
  options.policy = "async";
  options.kernel_scale = 2;
  EXPECT_DOUBLE_EQ(sim::replay(program, toy(), options).compute_s, 400 * us);
  options.times = memory::plan::time_source::recorded;
  EXPECT_DOUBLE_EQ(sim::replay(program, toy(), options).compute_s, 20 * us);
}

TEST(Replay, RefusesBadInput) {
  const memory::trace program = two_kernels();
  EXPECT_THROW((void)run(program, "fastest"), invalid_argument);
  EXPECT_THROW((void)run(program, "profiled"), invalid_argument);
  EXPECT_THROW((void)run(program, "async", 65 * mib), invalid_argument);
  sim::replay_options options;
  for (const double scale : {0.0, -1.0, 1.0 / 0.0}) {
    options.kernel_scale = scale;
    EXPECT_THROW((void)sim::replay(program, toy(), options), invalid_argument);
  }
  sim::device_model device = toy();
  device.launch_us = -1;
  EXPECT_THROW((void)run(program, "async", 0, device), invalid_argument);
}

TEST(Replay, RefusesTracesThatContradictThemselves) {
  for (const char* policy : {"async", "managed", "lru", "planned"}) {
    for (std::size_t missing = 0; missing < 2; ++missing) {  // the allocation; then its copy
      memory::trace program = two_kernels();
      if (missing == 0) {
        program.events.erase(program.events.begin());
      } else {
        program.events.insert(program.events.begin(), program.events.front());
      }
      EXPECT_THROW((void)run(program, policy), corrupt_data) << policy;
    }
    memory::trace outside = two_kernels();
    outside.events[1].offset = 1;
    EXPECT_THROW((void)run(outside, policy), corrupt_data) << policy;
    memory::trace backwards = two_kernels();
    backwards.events[1].step = 7;
    EXPECT_THROW((void)run(backwards, policy), corrupt_data) << policy;
  }
}

}  // namespace
}  // namespace halocline::test
