// SPDX-License-Identifier: Apache-2.0
// Keys with remote contents on an accelerator: random programs on a fake card, whose lanes run late and in
// every order that their tickets allow.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/memory_machine.hpp"

namespace halocline::test {
namespace {

using memory::runtime;
using memory::runtime_options;
using keys_are = memory_machine::keys_are;

struct remote_rig {
  remote_rig(const char* policy, std::size_t budget, std::uint64_t seed, unsigned laziness,
             std::size_t pinned = std::size_t{16} << 20, bool sinks = false) {
    card = std::make_shared<fake_card>(seed, laziness);
    runtime_options options;
    options.policy = policy;
    options.budget_bytes = budget;
    options.device = card;
    options.pinned_bytes = pinned;
    options.slow = memory::make_memory_store();
    options.tier_limit_bytes = sinks ? std::size_t{1} << 30 : 0;  // a file that was asked for
    options.remote_requests = 4;
    memory = runtime::create(options);
  }
  [[nodiscard]] memory_machine machine(const memory_program& program,
                                       const std::function<bool()>& fails = {}) const {
    return {memory, program, std::make_shared<card_hands>(card), keys_are::remote, fails};
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

/// A plan with what a runtime says of its links and of where keys are.
std::shared_ptr<const memory::plan::plan> plan_on(const remote_rig& at, const memory_program& program) {
  runtime_options ghostly;
  ghostly.ghost = true;
  ghostly.policy = "planned";
  const auto ghost = runtime::create(ghostly);
  memory_machine shapes(ghost, program);
  ghost->start_trace();
  shapes.run();
  memory::plan::planner_options options = at.memory->planning(at.memory->budget_bytes());
  const auto source = memory::plan::make_program(ghost->stop_trace(), options.costs);
  return std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, options));
}

TEST(DeviceRemote, ProgramsAreRightUnderLru) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const unsigned laziness : {0U, 50U, 100U}) {
      for (const bool sinks : {false, true}) {
        for (const std::size_t pinned : {std::size_t{1} << 17, std::size_t{16} << 20}) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << ", laziness " << laziness << ", pinned "
                                          << pinned << ", to the file " << sinks);
          const memory_program program = program_maker(seed, {12, 80, 8}).make();
          const remote_rig at("lru", live_bytes_of(program) / 3, seed, laziness, pinned, sinks);
          memory_machine machine = at.machine(program);
          EXPECT_EQ(at.memory->link_statistics().back().read_bytes, 0U) << "nothing is read yet";
          machine.run();
          machine.check_all();
          const auto links = at.memory->link_statistics();
          ASSERT_EQ(links.size(), 3U);
          EXPECT_GT(links.back().read_bytes, 0U);
          EXPECT_EQ(links[1].written_bytes != 0, pinned == std::size_t{1} << 17);
          machine.clear();
          at.expect_baseline();
        }
      }
    }
  }
}

TEST(DeviceRemote, ProgramsAreRightUnderPlansAndEachKeyComesFromAfarOnce) {
  for (std::uint64_t seed = 11; seed <= 16; ++seed) {
    const memory_program program = program_maker(seed, {12, 80, 8}).make();
    for (const unsigned laziness : {0U, 50U, 97U, 100U}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", laziness " << laziness);
      const std::size_t budget = live_bytes_of(program) * 2 / 3;
      const remote_rig at("planned", budget, seed, laziness);
      memory_machine machine = at.machine(program);
      const auto plan = plan_on(at, program);
      ASSERT_EQ(plan->expected.links.size(), 2U) << "pinned memory and remote";
      at.memory->begin_plan(plan);
      machine.run([&](const runtime& now) { ASSERT_LE(now.statistics().fast_bytes, budget); });
      const memory::plan_outcome outcome = at.memory->end_plan();
      EXPECT_FALSE(outcome.diverged) << outcome.reason;
      const std::uint64_t far = at.memory->link_statistics().back().read_bytes;
      EXPECT_LE(far, plan->expected.links.back().loaded_bytes + budget / 4);
      machine.check_all();
      machine.clear();
      at.expect_baseline();
    }
  }
}

TEST(DeviceRemote, WhatIsFetchedAheadAndEvictedIsRight) {
  for (std::uint64_t seed = 21; seed <= 28; ++seed) {
    for (const unsigned laziness : {0U, 50U, 100U}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", laziness " << laziness);
      const memory_program program = program_maker(seed, {12, 80, 8}).make();
      const std::size_t budget = live_bytes_of(program) / (1 + seed % 2);
      const std::size_t pinned = seed % 3 == 0 ? std::size_t{1} << 17 : std::size_t{16} << 20;
      const remote_rig at("lru", budget, seed, laziness, pinned);
      memory_machine machine = at.machine(program);
      std::mt19937_64 random(seed);
      machine.run([&](runtime& now) {
        const std::size_t number = random() % program.keys;
        if (random() % 2 == 0) (void)now.fetch(machine.key(number));
        if (random() % 4 == 0) now.set_spare(machine.key(random() % program.keys), random() % 3 != 0);
        if (random() % 3 == 0) now.leave_fast(machine.key(random() % program.keys), random() % 2 == 0);
        ASSERT_LE(now.statistics().fast_bytes, budget);
      });
      machine.check_all();
      machine.clear();
      at.expect_baseline();
    }
  }
}

TEST(DeviceRemote, AFetchedKeyIsOnTheCardBeforeItsStep) {
  const memory_program program = program_maker(3, {4, 2, 8}).make();
  const remote_rig at("lru", std::size_t{1} << 20, 3, 0);
  memory_machine machine = at.machine(program);
  for (std::size_t i = 0; i < 4; ++i) {
    while (at.memory->fetch(machine.key(i)) == memory::fetched::later) {
    }
  }
  EXPECT_EQ(at.memory->statistics().moved.loads, 4U);
  machine.check_all();
  EXPECT_EQ(at.memory->statistics().moved.loads, 4U);
  for (std::size_t i = 0; i < 4; ++i) at.memory->leave_fast(machine.key(i));
  const std::uint64_t far = at.memory->link_statistics().back().read_bytes;
  machine.check_all();
  EXPECT_EQ(at.memory->statistics().moved.loads, 8U);
  EXPECT_EQ(at.memory->link_statistics().back().read_bytes, far) << "pinned memory has them";
  for (std::size_t i = 0; i < 4; ++i) at.memory->leave_fast(machine.key(i), true);
  machine.check_all();
  EXPECT_EQ(at.memory->link_statistics().back().read_bytes, 2 * far);
}

TEST(DeviceRemote, ReadsThatFailAreTriedAgain) {
  for (std::uint64_t seed = 41; seed <= 46; ++seed) {
    for (const char* const policy : {"lru", "planned"}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << policy);
      const memory_program program = program_maker(seed, {12, 60, 8}).make();
      const remote_rig at(policy, live_bytes_of(program) / 2, seed, 50, std::size_t{1} << 18);
      std::atomic<unsigned> reads = 0;
      memory_machine machine = at.machine(program, [&] { return ++reads % 3 == 0; });
      if (policy == std::string("planned")) at.memory->begin_plan(plan_on(at, program));
      bool is_done = false;
      for (unsigned attempt = 0; !is_done && attempt < 1000; ++attempt) {
        try {
          machine.resume();
          is_done = true;
        } catch (const io_error&) {  // what the step needed: the next attempt may succeed
        }
      }
      ASSERT_TRUE(is_done);
      EXPECT_GT(reads, 3U);
      (void)at.memory->end_plan();
      for (;;) {
        try {
          machine.check_all();
          break;
        } catch (const io_error&) {
        }
      }
      machine.clear();
      at.expect_baseline();
    }
  }
}

}  // namespace
}  // namespace halocline::test
