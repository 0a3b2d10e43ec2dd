// SPDX-License-Identifier: Apache-2.0
// Random programs whose file tier is harmed by something else: every byte that a step reads is right, or the
// step fails and says what is lost; what has a recipe is made again; and the runtime goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <tuple>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_machine.hpp"
#include "support/spill_file.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using memory::io_engine;
using memory::runtime;
using memory::runtime_options;

constexpr std::size_t kib = 1024;
constexpr std::size_t budget = 200 * kib;

std::shared_ptr<runtime> make_runtime(const std::string& policy, std::shared_ptr<memory::store> slow,
                                      bool ghost = false) {
  runtime_options options;
  options.policy = policy;
  options.budget_bytes = ghost ? 0 : budget;
  options.ghost = ghost;
  options.slow = std::move(slow);
  return runtime::create(options);
}

std::shared_ptr<const memory::plan::plan> plan_of(const memory_program& program, memory::recovery keys) {
  const auto ghost = make_runtime("planned", nullptr, true);
  memory_machine machine(ghost, program);
  machine.give_recipes(keys);
  ghost->start_trace();
  machine.run();
  memory::plan::planner_options options;
  options.capacity_bytes = budget;
  return std::make_shared<const memory::plan::plan>(
      memory::plan::make_plan(memory::plan::make_program(ghost->stop_trace(), {}), options));
}

/// What happened in a run: steps that failed, objects that were lost at its end.
struct harm_seen {
  std::size_t failed_steps = 0;
  std::size_t lost_objects = 0;
};

/// Runs a program to its end over errors; `after` is called after each instruction.
harm_seen run_over_errors(memory_machine& machine, const memory_machine::observer& after) {
  harm_seen seen;
  for (bool done = false; !done;) {
    try {
      machine.run(after);
      done = true;
    } catch (const corrupt_data& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("object ("));
      EXPECT_THAT(error.what(), testing::HasSubstr("are lost"));
      ++seen.failed_steps;
      machine.skip();
    }
  }
  seen.lost_objects = machine.count_lost();
  // Looking at all of them takes frames away from some, whose copies may then prove to be lost too.
  EXPECT_GE(machine.count_lost(), seen.lost_objects) << "what is lost stays lost";
  return seen;
}

/// A run without harm on a runtime that has seen some.
void expect_works(const std::shared_ptr<runtime>& memory, const memory_program& program,
                  const std::shared_ptr<const memory::plan::plan>& plan, memory::recovery keys) {
  memory_machine machine(memory, program);
  machine.give_recipes(keys);
  if (plan) memory->begin_plan(plan);
  machine.run();
  if (plan) {
    EXPECT_FALSE(memory->end_plan().diverged);
  }
  EXPECT_EQ(machine.count_lost(), 0U);
  machine.clear();
}

using harm_case = std::tuple<damage, io_engine, std::string>;

class HarmedFile : public testing::TestWithParam<harm_case> {};

INSTANTIATE_TEST_SUITE_P(Kinds, HarmedFile,
                         testing::Combine(testing::Values(damage::truncate, damage::flip_bits,
                                                          damage::zero_pages, damage::swap_pages,
                                                          damage::stale_pages),
                                          testing::Values(io_engine::io_uring, io_engine::threads),
                                          testing::Values("lru", "planned")));

TEST_P(HarmedFile, NeverGivesWrongBytes) {
  const auto& [how, engine, policy] = GetParam();
  if (engine == io_engine::io_uring && !memory::has_io_uring()) GTEST_SKIP() << "no io_uring here";
  memory::movement total;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto keys = static_cast<memory::recovery>(seed % 3);
    const memory_program program = program_maker(seed, {12, 60, 6}).make();
    const auto plan = policy == "planned" ? plan_of(program, keys) : nullptr;
    const temporary_folder folder;
    memory::file_store_options options;
    options.folder = folder.path();
    options.engine = engine;
    const auto memory = make_runtime(policy, memory::make_file_store(options));
    const spill_file file(folder.path());
    std::mt19937_64 random(seed);
    {
      memory_machine machine(memory, program);
      machine.give_recipes(keys);
      if (plan) memory->begin_plan(plan);
      std::size_t instructions = 0;
      std::vector<char> before;
      (void)run_over_errors(machine, [&](const runtime&) {
        ++instructions;
        const std::size_t used = memory->slow_statistics().slot_bytes * 3 / 2;
        if (instructions == 40) before = file.copy(used);
        if (instructions == 120) file.harm(how, used, random, before);
      });
      if (plan) (void)memory->end_plan();
    }
    const memory::movement moved = memory->statistics().moved;
    total.losses += moved.losses;
    total.repairs += moved.repairs;
    expect_works(memory, program, plan, keys);
    EXPECT_EQ(memory->statistics().moved.losses, moved.losses);
    EXPECT_EQ(memory->slow_statistics().slots, 0U);
  }
  EXPECT_GT(total.losses, 0U);
  // Keys keep what was written first, so that earlier pages of theirs are right.
  if (how != damage::stale_pages) {
    EXPECT_GT(total.repairs, 0U);
  }
}

class DamagedReads : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Policies, DamagedReads, testing::Values("lru", "planned"));

TEST_P(DamagedReads, CostOneObjectEachOrARepair) {
  const memory_program program = program_maker(11, {12, 60, 6}).make();
  for (std::uint64_t first = 1; first <= 15; ++first) {
    SCOPED_TRACE(testing::Message() << "first damaged read " << first);
    fault_script script;
    script.damaged_read = {first, 2};
    const auto slow = std::make_shared<faulty_store>(memory::make_memory_store(), script);
    const auto memory = make_runtime(GetParam(), slow);
    const auto plan = GetParam() == "planned" ? plan_of(program, memory::recovery::copy) : nullptr;
    memory_machine machine(memory, program);
    machine.give_recipes(memory::recovery::copy);
    if (plan) memory->begin_plan(plan);
    (void)run_over_errors(machine, [](const runtime&) {});
    if (plan) (void)memory->end_plan();
    const memory::movement moved = memory->statistics().moved;
    EXPECT_EQ(slow->counts().damaged_reads, 2U);
    EXPECT_LE(moved.losses + moved.repairs, 2U);  // a read whose bytes were no longer needed costs nothing
    machine.clear();
    slow->set_script({});
    expect_works(memory, program, plan, memory::recovery::copy);
  }
}

TEST(LostContents, AreBackWhenAStepWritesAllOfThem) {
  fault_script script;
  script.damaged_read = {1, 1};
  const auto memory =
      make_runtime("lru", std::make_shared<faulty_store>(memory::make_memory_store(), script));
  const memory::buffer data = memory->allocate(8 * kib, memory::object_class::ciphertext, "victim");
  const memory::operand all{&data, 0, 8 * kib};
  const memory::operand part{&data, 0, 4 * kib};
  const auto fill = [&](int value) {
    std::fill_n(memory->acquire({}, {&all, 1}, "write").pointer(data), 8 * kib, std::byte(value));
  };
  fill(1);
  memory->set_budget(4096);
  memory->set_budget(budget);
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)memory->acquire({&all, 1}, {}, "read"), corrupt_data);
  EXPECT_THROW((void)memory->acquire({}, {&part, 1}, "write a part"), corrupt_data);
  EXPECT_EQ(memory->statistics().moved.losses, 1U);
  EXPECT_EQ(memory->statistics().moved.lost_bytes, 8 * kib);
  fill(2);
  EXPECT_EQ(*memory->acquire({&all, 1}, {}, "read").pointer(data, 5000), std::byte(2));
}

}  // namespace
}  // namespace halocline::test
