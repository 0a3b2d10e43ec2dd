// SPDX-License-Identifier: Apache-2.0
// Slow tiers that fail, budgets that change, cancelled programs: an error or a completed run, never wrong
// bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_machine.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

using memory::runtime;
using memory::runtime_options;

constexpr std::size_t kib = 1024;

struct faulty_rig {
  explicit faulty_rig(const char* policy, std::size_t budget,
                      std::shared_ptr<memory::memory_budget> shared = nullptr) {
    slow = std::make_shared<faulty_store>(memory::make_memory_store(), fault_script{});
    runtime_options options;
    options.policy = policy;
    options.budget_bytes = budget;
    options.shared_budget = std::move(shared);
    options.slow = slow;
    memory = runtime::create(options);
  }

  void expect_baseline() const {
    EXPECT_EQ(memory->statistics().live_bytes, 0U);
    EXPECT_EQ(memory->slow_statistics().slots, 0U);
    memory->trim();
    EXPECT_EQ(memory->statistics().fast_bytes, 0U);
  }

  std::shared_ptr<faulty_store> slow;
  std::shared_ptr<runtime> memory;
};

/// Runs a program to its end, trying every instruction again after an error.
class retrying_machine {
 public:
  retrying_machine(const faulty_rig& at, const memory_program& program) : machine_(at.memory, program) {}

  /// Returns how many errors there were.
  unsigned run() {
    unsigned errors = 0;
    while (true) {
      try {
        machine_.resume();
        return errors;
      } catch (const io_error&) {
        ++errors;
        EXPECT_LT(errors, 100U);
        if (errors > 100) return errors;
      }
    }
  }

  void check() { machine_.check_all(); }
  void clear() { machine_.clear(); }

 private:
  memory_machine machine_;
};

const memory_program& some_program() {
  static const memory_program program = program_maker(11, {12, 60, 6}).make();
  return program;
}

class Faults : public testing::TestWithParam<fault_script> {};

TEST_P(Faults, AreReportedAndLoseNothing) {
  const faulty_rig at("lru", 160 * kib);
  retrying_machine machine(at, some_program());
  at.slow->set_script(GetParam());
  const unsigned errors = machine.run();
  const fault_counts& seen = at.slow->counts();
  EXPECT_GT(seen.disk_full + seen.read_errors + seen.short_reads + seen.write_errors, 0U);
  EXPECT_LE(errors, seen.disk_full + seen.read_errors + seen.short_reads + seen.write_errors);
  at.slow->set_script({});
  machine.check();
  machine.clear();
  at.expect_baseline();
}

TEST_P(Faults, UnderAPlanToo) {
  runtime_options ghostly;
  ghostly.ghost = true;
  const auto ghost = runtime::create(ghostly);
  memory_machine shapes(ghost, some_program());
  ghost->start_trace();
  shapes.run();
  const memory::plan::program source = memory::plan::make_program(ghost->stop_trace(), {});
  memory::plan::planner_options options;
  options.capacity_bytes = std::max<std::size_t>(160 * kib, memory::plan::minimum_capacity(source));
  const auto plan = std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, options));

  const faulty_rig at("planned", options.capacity_bytes);
  retrying_machine machine(at, some_program());
  at.slow->set_script(GetParam());
  at.memory->begin_plan(plan);
  machine.run();
  (void)at.memory->end_plan();
  at.slow->set_script({});
  machine.check();
  machine.clear();
  at.expect_baseline();
}

/// One kind of fault, at some calls of that kind.
fault_script one_kind(fault_window fault_script::*kind, fault_window when) {
  fault_script script;
  script.*kind = when;
  return script;
}

INSTANTIATE_TEST_SUITE_P(EachKind, Faults,
                         testing::Values(one_kind(&fault_script::disk_full, {2, 3}),
                                         one_kind(&fault_script::read_error, {14, 2}),
                                         one_kind(&fault_script::short_read, {13, 4}),
                                         one_kind(&fault_script::write_error, {13, 3})));

TEST(SlowDisk, OnlyTakesLonger) {
  const faulty_rig at("lru", 160 * kib);
  retrying_machine machine(at, some_program());
  fault_script script;
  script.delay = std::chrono::microseconds(200);
  at.slow->set_script(script);
  EXPECT_EQ(machine.run(), 0U);
  EXPECT_GT(at.memory->statistics().moved.stall_ns, 0U);
  machine.check();
}

TEST(Budgets, ShrinkAndGrowWhileAProgramRuns) {
  const faulty_rig at("lru", 400 * kib);
  memory_machine machine(at.memory, some_program());
  std::size_t calls = 0;
  machine.run([&](const runtime& memory) {
    const std::size_t budget = ++calls % 2 == 0 ? 400 * kib : 160 * kib;
    at.memory->set_budget(budget);
    ASSERT_LE(memory.statistics().fast_bytes, budget);
  });
  machine.check_all();
  machine.clear();
  at.expect_baseline();
}

TEST(Budgets, TooSmallForWhatIsInUseIsRefused) {
  const faulty_rig at("lru", 64 * kib);
  const memory::buffer held = at.memory->allocate(16 * kib, memory::object_class::ciphertext, "held");
  const memory::operand all{&held, 0, 16 * kib};
  {
    const memory::access pinned = at.memory->acquire({}, {&all, 1}, "work");
    EXPECT_THROW(at.memory->set_budget(8 * kib), out_of_memory);
    EXPECT_EQ(at.memory->budget_bytes(), 64 * kib);
  }
  at.memory->set_budget(16 * kib);
  EXPECT_EQ(at.memory->budget_bytes(), 16 * kib);
}

TEST(Budgets, TwoRuntimesShareOne) {
  const auto shared = std::make_shared<memory::memory_budget>(300 * kib);
  const faulty_rig first("lru", 0, shared);
  const faulty_rig second("lru", 0, shared);
  const memory_program other = program_maker(12, {12, 60, 6}).make();
  memory_machine a(first.memory, some_program());
  memory_machine b(second.memory, other);
  std::thread beside([&] { b.run(); });
  a.run([&](const runtime&) { ASSERT_LE(shared->used(), 300 * kib); });
  beside.join();
  a.check_all();
  b.check_all();
  EXPECT_LE(shared->peak(), 300 * kib);
  a.clear();
  b.clear();
  first.expect_baseline();
  second.expect_baseline();
  EXPECT_EQ(shared->used(), 0U);
}

TEST(Budgets, AStepThatNeedsTooMuchSaysHowMuch) {
  const faulty_rig at("lru", 64 * kib);
  const memory::buffer a = at.memory->allocate(40 * kib, memory::object_class::ciphertext, "a");
  const memory::buffer b = at.memory->allocate(40 * kib, memory::object_class::ciphertext, "b");
  const memory::operand both[] = {{&a, 0, 40 * kib}, {&b, 0, 40 * kib}};
  const std::string message = message_of<out_of_memory>([&] { (void)at.memory->acquire({}, both, "work"); });
  EXPECT_THAT(message, testing::HasSubstr("81920 bytes"));
  const memory::operand one{&a, 0, 40 * kib};
  EXPECT_NO_THROW((void)at.memory->acquire({}, {&one, 1}, "work"));
}

TEST(Cancellation, StopsAtAStepAndLeavesObjectsUsable) {
  const faulty_rig at("lru", 160 * kib);
  memory_machine machine(at.memory, some_program());
  std::size_t calls = 0;
  EXPECT_THROW(machine.run([&](const runtime&) {
    if (++calls == 40) at.memory->cancel();
  }),
               cancelled);
  machine.check_all();
  machine.clear();
  at.expect_baseline();
}

TEST(Plans, NeedThePolicyAndABudgetThatHoldsThem) {
  const auto plan = std::make_shared<memory::plan::plan>();
  plan->capacity_bytes = 128 * kib;
  const faulty_rig under_lru("lru", 160 * kib);
  EXPECT_THROW(under_lru.memory->begin_plan(plan), invalid_argument);
  const faulty_rig small("planned", 64 * kib);
  EXPECT_THROW(small.memory->begin_plan(plan), invalid_argument);
  const faulty_rig fitting("planned", 128 * kib);
  fitting.memory->begin_plan(plan);
  EXPECT_THROW(fitting.memory->begin_plan(plan), invalid_argument);
  EXPECT_EQ(fitting.memory->end_plan().steps_followed, 0U);
}

}  // namespace
}  // namespace halocline::test
