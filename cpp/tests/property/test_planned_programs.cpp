// SPDX-License-Identifier: Apache-2.0
// Random programs under random budgets: ghost run, plan, real run on the slow tier. Every byte that a step
// reads is compared, and the fast tier is checked against the budget after every instruction.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/plan_check.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/memory_machine.hpp"

namespace halocline::test {
namespace {

using memory::runtime;
using memory::runtime_options;

std::shared_ptr<runtime> make_runtime(std::size_t budget, const char* policy, bool ghost = false,
                                      std::shared_ptr<memory::store> slow = nullptr) {
  runtime_options options;
  options.budget_bytes = budget;
  options.policy = policy;
  options.ghost = ghost;
  options.slow = slow ? std::move(slow) : memory::make_memory_store();
  return runtime::create(options);
}

/// What a ghost run of the program records.
memory::plan::program ghost_pass(const memory_program& program, memory::recovery keys) {
  const auto ghost = make_runtime(0, "planned", true);
  memory_machine machine(ghost, program);
  if (keys != memory::recovery::copy) machine.give_recipes(keys);
  ghost->start_trace();
  machine.run();
  return memory::plan::make_program(ghost->stop_trace(), {});
}

std::shared_ptr<const memory::plan::plan> plan_for(const memory::plan::program& source, std::size_t capacity,
                                                   bool resize = true) {
  memory::plan::planner_options options;
  options.allow_resize = resize;
  options.capacity_bytes = capacity;
  return std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, options));
}

/// Runs the program under the plan and expects that it is followed to its end within the budget.
void follow(const memory_program& program, std::shared_ptr<const memory::plan::plan> plan,
            const std::shared_ptr<runtime>& real, memory::recovery keys) {
  const std::size_t budget = plan->capacity_bytes;
  memory_machine machine(real, program);
  if (keys != memory::recovery::copy) machine.give_recipes(keys);
  real->begin_plan(std::move(plan));
  machine.run([&](const runtime& at) { ASSERT_LE(at.statistics().fast_bytes, budget); });
  const memory::plan_outcome outcome = real->end_plan();
  EXPECT_FALSE(outcome.diverged) << outcome.reason;
  machine.check_all();
  EXPECT_LE(real->statistics().peak_fast_bytes, budget);
  EXPECT_EQ(real->statistics().moved.divergences, 0U);
  machine.clear();
  EXPECT_EQ(real->statistics().live_bytes, 0U);
  EXPECT_EQ(real->slow_statistics().slots, 0U);
}

TEST(PlannedPrograms, AreRightWithinEveryBudgetFromTheMinimumUp) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const memory_program program = program_maker(seed, {12, 80, 8}).make();
    const auto keys = static_cast<memory::recovery>(seed % 3);
    const memory::plan::program source = ghost_pass(program, keys);
    const std::size_t least = memory::plan::minimum_capacity(source);
    const std::size_t most = source.footprint_bytes();
    std::mt19937_64 random(seed);
    for (const std::size_t budget :
         {least, least + random() % (most - least), least + random() % (most - least)}) {
      // Keys are written before the plan begins, one at a time, which needs less than any step of these
      // programs only if the budget holds the largest of them.
      if (budget < 9 * 4096) continue;
      const auto plan = plan_for(source, budget, seed % 4 != 0);
      EXPECT_EQ(memory::plan::check_plan(source, *plan), std::vector<std::string>{});
      follow(program, plan, make_runtime(budget, "planned"), keys);
    }
  }
}

TEST(PlannedPrograms, AreRightWithFramesThatGrowAndShrink) {
  for (std::uint64_t seed = 21; seed <= 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    // Frames that the operating system can resize begin at 128 KiB.
    const memory_program program = program_maker(seed, {8, 60, 96}).make();
    const auto keys = static_cast<memory::recovery>(seed % 3);
    const memory::plan::program source = ghost_pass(program, keys);
    const std::size_t least = std::max<std::size_t>(memory::plan::minimum_capacity(source), 97 * 4096);
    for (const std::size_t budget : {least, least + least / 4}) {
      follow(program, plan_for(source, budget),
             make_runtime(budget, "planned", false, memory::make_file_store()), keys);
    }
  }
}

TEST(PlannedPrograms, AreRightOnAFile) {
  const memory_program program = program_maker(99, {12, 80, 8}).make();
  const memory::plan::program source = ghost_pass(program, memory::recovery::expand);
  const std::size_t budget = memory::plan::minimum_capacity(source) + (std::size_t{64} << 10);
  const auto real = make_runtime(budget, "planned", false, memory::make_file_store());
  follow(program, plan_for(source, budget), real, memory::recovery::expand);
}

TEST(PlannedPrograms, AnotherProgramIsFinishedUnderLruAndIsRight) {
  const memory_program planned = program_maker(5, {12, 80, 8}).make();
  memory_program other = planned;
  other.instructions.insert(other.instructions.begin() + 100,
                            {memory_instruction::kind::step, 0, {{3, other.objects[3].bytes}}, {}});
  const memory::plan::program source = ghost_pass(planned, memory::recovery::copy);
  const std::size_t budget = memory::plan::minimum_capacity(source) + (std::size_t{64} << 10);
  const auto real = make_runtime(budget, "planned");
  memory_machine machine(real, other);
  real->begin_plan(plan_for(source, budget));
  machine.run([&](const runtime& at) { ASSERT_LE(at.statistics().fast_bytes, budget); });
  const memory::plan_outcome outcome = real->end_plan();
  EXPECT_TRUE(outcome.diverged);
  EXPECT_NE(outcome.reason.find("look"), std::string::npos) << outcome.reason;
  EXPECT_EQ(real->statistics().moved.divergences, 1U);
  machine.check_all();
}

TEST(PlannedPrograms, AProgramThatEndsEarlyIsADivergence) {
  memory_program program = program_maker(6, {8, 40, 8}).make();
  const memory::plan::program source = ghost_pass(program, memory::recovery::copy);
  const auto plan = plan_for(source, source.footprint_bytes());
  program.instructions.resize(program.instructions.size() / 2);
  const auto real = make_runtime(source.footprint_bytes(), "planned");
  memory_machine machine(real, program);
  real->begin_plan(plan);
  machine.run();
  EXPECT_TRUE(real->end_plan().diverged);
  machine.check_all();
}

TEST(PlannedPrograms, BelowTheMinimumTheErrorStatesIt) {
  const memory::plan::program source = ghost_pass(program_maker(7, {}).make(), memory::recovery::copy);
  const std::size_t least = memory::plan::minimum_capacity(source);
  try {
    (void)plan_for(source, least - 1);
    FAIL() << "a plan below the minimum";
  } catch (const out_of_memory& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(least)), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace halocline::test
