// SPDX-License-Identifier: Apache-2.0
// Random programs on an accelerator whose lanes run late and in every order that their tickets allow: every
// byte that a step reads is compared, and the card's memory never exceeds the budget.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_machine.hpp"

namespace halocline::test {
namespace {

using memory::runtime;
using memory::runtime_options;

memory::policy_options constants_for(const std::string& policy) {
  memory::policy_options constants;
  if (policy == "profiled") {
    std::vector<std::uint8_t> decisions;
    for (unsigned i = 0; i < 500; ++i) decisions.push_back(i % 9 == 0 ? 1 : 0);
    constants.decisions = std::make_shared<const std::vector<std::uint8_t>>(std::move(decisions));
  }
  return constants;
}

/// A runtime on a fake card, and programs on it.
struct rig {
  rig(const char* policy, std::size_t budget, std::uint64_t seed, unsigned laziness,
      std::size_t pinned = std::size_t{16} << 20, std::shared_ptr<memory::store> below = nullptr,
      bool blocking = false) {
    card = std::make_shared<fake_card>(seed, laziness);
    runtime_options options;
    options.blocking_copies = blocking;
    options.policy = policy;
    options.constants = constants_for(policy);
    options.budget_bytes = budget;
    options.device = card;
    options.pinned_bytes = pinned;
    options.slow = below ? std::move(below) : memory::make_memory_store();
    memory = runtime::create(options);
  }

  [[nodiscard]] memory_machine machine(const memory_program& program) const {
    return {memory, program, std::make_shared<card_hands>(card)};
  }
  void run(memory_machine& machine, std::size_t budget) const {
    machine.run([&](const runtime& at) {
      ASSERT_LE(at.statistics().fast_bytes, budget);
      ASSERT_LE(card->used_bytes(), budget);
    });
  }
  void expect_baseline() const {
    EXPECT_EQ(memory->statistics().live_bytes, 0U);
    EXPECT_EQ(memory->slow_statistics().slots, 0U);
    memory->trim();
    EXPECT_EQ(memory->statistics().fast_bytes, 0U);
    EXPECT_EQ(card->used_bytes(), 0U);
  }

  std::shared_ptr<fake_card> card;
  std::shared_ptr<runtime> memory;
};

/// Costs of a device: loading takes longer than computing, and than making bytes again.
memory::plan::cost_model device_costs() {
  memory::plan::cost_model costs;
  costs.other_operation = {1'000, 0};
  costs.load = costs.store = {10'000, 0.02};
  costs.expand = memory::plan::accelerator_expand;
  costs.encode = memory::plan::accelerator_encode;
  return costs;
}

std::shared_ptr<const memory::plan::plan> plan_for(const memory_program& program, memory::recovery keys,
                                                   std::size_t spare, bool resize = false,
                                                   const memory::plan::cost_model& costs = {}) {
  runtime_options ghostly;
  ghostly.ghost = true;
  ghostly.policy = "planned";
  const auto ghost = runtime::create(ghostly);
  memory_machine machine(ghost, program);
  if (keys != memory::recovery::copy) machine.give_recipes(keys);
  ghost->start_trace();
  machine.run();
  const memory::plan::program source = memory::plan::make_program(ghost->stop_trace(), costs);
  memory::plan::planner_options options;
  options.costs = costs;
  options.allow_resize = resize;
  options.capacity_bytes = std::max<std::size_t>(9 * 4096, memory::plan::minimum_capacity(source)) + spare;
  return std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, options));
}

TEST(DevicePrograms, AreRightUnderLru) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const unsigned laziness : {0U, 50U, 97U, 100U}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", laziness " << laziness);
      const memory_program program = program_maker(seed, {12, 80, 8}).make();
      const std::size_t budget = live_bytes_of(program) / 3;
      const rig at("lru", budget, seed, laziness);
      memory_machine machine = at.machine(program);
      if (seed % 2 == 0) machine.give_recipes(memory::recovery::expand);
      at.run(machine, budget);
      machine.check_all();
      EXPECT_GT(at.memory->statistics().moved.loads, 0U);
      machine.clear();
      at.expect_baseline();
    }
  }
}

TEST(DevicePrograms, BlockingCopiesNeverOverlapOperations) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const bool blocking : {false, true}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", blocking " << blocking);
      const memory_program program = program_maker(seed, {12, 80, 8}).make();
      const std::size_t budget = live_bytes_of(program) / 3;
      // Little pinned memory: some bytes come from the store behind it.
      const std::size_t pinned = seed % 2 == 0 ? std::size_t{1} << 17 : std::size_t{16} << 20;
      const rig at("lru", budget, seed, 100, pinned, nullptr, blocking);
      memory_machine machine = at.machine(program);
      at.run(machine, budget);
      machine.check_all();
      const memory::movement moved = at.memory->statistics().moved;
      EXPECT_GT(moved.loads, 0U);
      EXPECT_GT(moved.written_bytes, 0U);
      EXPECT_EQ(at.card->overlaps() == 0, blocking);
      machine.clear();
      at.expect_baseline();
    }
  }
}

TEST(DevicePrograms, AreRightUnderPlans) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const memory_program program = program_maker(seed, {12, 80, 8}).make();
    const auto keys = static_cast<memory::recovery>(seed % 3);
    for (const std::size_t spare : {0U, 1U << 16, 1U << 18}) {
      const auto plan = plan_for(program, keys, spare, seed % 2 == 0);
      for (const unsigned laziness : {0U, 50U, 97U, 100U}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << ", spare " << spare << ", laziness " << laziness);
        const std::size_t budget = plan->capacity_bytes;
        const rig at("planned", budget, seed, laziness);
        memory_machine machine = at.machine(program);
        if (keys != memory::recovery::copy) machine.give_recipes(keys);
        at.memory->begin_plan(plan);
        at.run(machine, budget);
        const memory::plan_outcome outcome = at.memory->end_plan();
        EXPECT_FALSE(outcome.diverged) << outcome.reason;
        machine.check_all();
        machine.clear();
        at.expect_baseline();
      }
    }
  }
}

TEST(DevicePrograms, PlansMakeKeysAgainOnTheCard) {
  for (std::uint64_t seed = 31; seed <= 36; ++seed) {
    const memory_program program = program_maker(seed, {12, 80, 8}).make();
    const auto keys = seed % 2 == 0 ? memory::recovery::expand : memory::recovery::encode;
    const auto plan = plan_for(program, keys, 1 << 16, false, device_costs());
    const std::uint64_t planned = plan->expected.expanded_bytes + plan->expected.encoded_bytes;
    ASSERT_GT(planned, 0U);
    for (const unsigned laziness : {0U, 50U, 97U, 100U}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", laziness " << laziness);
      const rig at("planned", plan->capacity_bytes, seed, laziness);
      memory_machine machine = at.machine(program);
      machine.give_recipes(keys);
      const std::size_t waits = at.card->host_waits();
      at.memory->begin_plan(plan);
      at.run(machine, plan->capacity_bytes);
      EXPECT_EQ(at.card->host_waits(), waits);  // queued like any other work
      const memory::plan_outcome outcome = at.memory->end_plan();
      EXPECT_FALSE(outcome.diverged) << outcome.reason;
      machine.check_all();
      const memory::movement moved = at.memory->statistics().moved;
      EXPECT_GT(keys == memory::recovery::expand ? moved.expanded_bytes : moved.encoded_bytes, planned / 2);
      EXPECT_GT(moved.regenerate_ns, 0U);
      machine.clear();
      at.expect_baseline();
    }
  }
}

TEST(DevicePrograms, CostsBeginWithThoseOfAccelerators) {
  const rig at("planned", 1 << 20, 1, 0);
  const memory::plan::cost_model costs = at.memory->measured_costs();
  EXPECT_EQ(costs.expand, memory::plan::accelerator_expand);
  EXPECT_EQ(costs.encode, memory::plan::accelerator_encode);
}

TEST(DevicePrograms, CostsAreForgottenWhileStepsAreUnderWay) {
  const memory_program program = program_maker(4, {12, 80, 8}).make();
  const std::size_t budget = live_bytes_of(program) / 2;
  const rig at("planned", budget, 4, 100);
  memory_machine machine = at.machine(program);
  // As a calibration does after its first repetition: nothing has run on the lazy card by then.
  unsigned step = 0;
  machine.run([&](const runtime&) {
    if (++step == 7 || step == 30) at.memory->forget_costs();
  });
  machine.check_all();
  EXPECT_FALSE(at.memory->measured_costs().operations.empty());
}

TEST(DevicePrograms, TheHostWaitsForNothing) {
  const memory_program program = program_maker(3, {12, 80, 8}).make();
  const auto plan = plan_for(program, memory::recovery::copy, 1 << 16);
  const rig at("planned", plan->capacity_bytes, 3, 100);
  memory_machine machine = at.machine(program);
  at.memory->begin_plan(plan);
  at.run(machine, plan->capacity_bytes);
  EXPECT_GT(at.memory->statistics().moved.loads, 0U);
  EXPECT_EQ(at.card->host_waits(), 0U);
  (void)at.memory->end_plan();
  machine.check_all();
}

TEST(DevicePrograms, AreRightWhenPinnedMemoryOverflows) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const memory_program program = program_maker(seed, {12, 80, 8}).make();
    const auto plan = plan_for(program, memory::recovery::copy, 1 << 15);
    for (const unsigned laziness : {0U, 60U, 100U}) {
      for (const char* const policy : {"lru", "planned"}) {
        SCOPED_TRACE(testing::Message() << policy << ", seed " << seed << ", laziness " << laziness);
        const std::size_t budget = plan->capacity_bytes;
        auto below = seed % 2 == 0 ? memory::make_file_store() : memory::make_memory_store();
        const rig at(policy, budget, seed, laziness, std::size_t{80} << 10, std::move(below));
        memory_machine machine = at.machine(program);
        if (policy == std::string("planned")) at.memory->begin_plan(plan);
        at.run(machine, budget);
        (void)at.memory->end_plan();
        machine.check_all();
        machine.clear();
        at.expect_baseline();
      }
    }
  }
}

TEST(DevicePrograms, FaultsOfTheFileLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const unsigned kind : {0U, 1U, 2U, 3U}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", kind " << kind);
      const memory_program program = program_maker(seed, {12, 60, 6}).make();
      fault_script script;
      (kind == 0   ? script.disk_full
       : kind == 1 ? script.read_error
       : kind == 2 ? script.short_read
                   : script.write_error) = {4, 3};
      auto below = std::make_shared<faulty_store>(memory::make_memory_store(), script);
      const rig at("lru", 200 << 10, seed, 60, std::size_t{64} << 10, below);
      memory_machine machine = at.machine(program);
      for (unsigned errors = 0; errors < 50; ++errors) {
        try {
          machine.resume();
          break;
        } catch (const io_error&) {
        }
      }
      below->set_script({});
      machine.check_all();
      machine.clear();
      at.expect_baseline();
    }
  }
}

TEST(DevicePrograms, WhatTheFileLostIsMadeAgainOrNamedAndTheRestIsRight) {
  memory::movement total;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const char* policy : {"lru", "planned"}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << policy);
      const memory_program program = program_maker(seed, {12, 80, 8}).make();
      const auto plan = plan_for(program, memory::recovery::copy, std::size_t{32} << 10);
      fault_script script;
      script.damaged_read = {2 * seed, 3};
      const auto below = std::make_shared<faulty_store>(memory::make_memory_store(), script);
      const rig at(policy, plan->capacity_bytes, seed, 60, std::size_t{128} << 10, below);
      memory_machine machine = at.machine(program);
      machine.give_recipes(memory::recovery::copy);
      if (policy == std::string("planned")) at.memory->begin_plan(plan);
      for (bool done = false; !done;) {
        try {
          at.run(machine, plan->capacity_bytes);
          done = true;
        } catch (const corrupt_data&) {
          machine.skip();
        }
      }
      (void)at.memory->end_plan();
      (void)machine.count_lost();
      at.card->finish();
      const memory::movement moved = at.memory->statistics().moved;
      EXPECT_EQ(below->counts().damaged_reads, 3U);
      EXPECT_LE(moved.losses + moved.repairs, 3U);
      total.losses += moved.losses;
      total.repairs += moved.repairs;
      machine.clear();
      at.expect_baseline();
    }
  }
  EXPECT_GT(total.losses, 0U);
  EXPECT_GT(total.repairs, 0U);
}

TEST(DevicePrograms, AreRightInUnifiedMemory) {
  for (const std::string policy : {"managed", "static", "dynamic", "profiled"}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      for (const unsigned laziness : {0U, 60U, 100U}) {
        SCOPED_TRACE(testing::Message() << policy << ", seed " << seed << ", laziness " << laziness);
        const memory_program program = program_maker(seed, {12, 80, 8}).make();
        // A part of the budget may be locked in the pool.
        const bool locks = policy == "profiled";
        const std::size_t budget = live_bytes_of(program) * (locks ? 3 : 2) / 4;
        rig at(policy.c_str(), budget, seed, laziness);
        memory_machine machine = at.machine(program);
        at.run(machine, budget);
        machine.check_all();
        const memory::stats seen = at.memory->statistics();
        EXPECT_TRUE(seen.moved.loaded_bytes > 0 || locks);
        EXPECT_LE(seen.peak_fast_bytes, budget);
        EXPECT_GE(at.card->prefetched_in, seen.moved.loaded_bytes);
        machine.clear();
        at.expect_baseline();
      }
    }
  }
}

TEST(DevicePrograms, AreRightWhereNothingMoves) {
  for (const char* const policy : {"resident", "async", "cached"}) {
    for (const unsigned laziness : {0U, 60U, 100U}) {
      const memory_program program = program_maker(5, {12, 80, 8}).make();
      const rig at(policy, live_bytes_of(program) + (1 << 20), 5, laziness);
      memory_machine machine = at.machine(program);
      machine.run();
      machine.check_all();
      machine.clear();
      at.expect_baseline();
    }
  }
}

}  // namespace
}  // namespace halocline::test
