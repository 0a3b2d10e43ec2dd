// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "memory_policy/policy_question.hpp"
#include "support/memory_machine.hpp"
#include "support/watching_store.hpp"

/// What every memory policy must satisfy. A policy's test instantiates `PolicyConformance` with a type that
/// has `static constexpr const char* name`, and `static memory::policy_options options()` if its policy does
/// not work with the default ones.
namespace halocline::test {

template <typename PolicyT>
class PolicyConformance : public testing::Test {
 protected:
  [[nodiscard]] static std::shared_ptr<memory::runtime> make_runtime(
      std::size_t budget, bool ghost = false,
      std::shared_ptr<memory::store> slow = memory::make_memory_store()) {
    memory::runtime_options options;
    options.policy = PolicyT::name;
    options.constants = options_of<PolicyT>();
    options.slow = std::move(slow);
    options.budget_bytes = budget;
    options.ghost = ghost;
    return memory::runtime::create(options);
  }
};

TYPED_TEST_SUITE_P(PolicyConformance);

TYPED_TEST_P(PolicyConformance, IsFoundByName) {
  EXPECT_EQ(memory::make_policy(TypeParam::name, options_of<TypeParam>()).name(), TypeParam::name);
  const std::vector<std::string> known = memory::policy_names();
  EXPECT_EQ(std::count(known.begin(), known.end(), TypeParam::name), 1);
}

TYPED_TEST_P(PolicyConformance, DecisionIsAPureFunction) {
  ask_random_questions<TypeParam>(1 << 19, [](const memory::policy& policy, const policy_question& q) {
    const memory::decision first = policy.decide(q.state, q.request);
    const auto other = memory::make_policy(TypeParam::name, options_of<TypeParam>());
    EXPECT_EQ(policy.decide(q.state, q.request), first);
    EXPECT_EQ(other.decide(q.state, q.request), first);
  });
}

TYPED_TEST_P(PolicyConformance, UnlimitedBudgetRefusesNothing) {
  ask_random_questions<TypeParam>(0, [](const memory::policy& policy, const policy_question& q) {
    EXPECT_NE(policy.decide(q.state, q.request).where, memory::placement::refuse);
  });
}

TYPED_TEST_P(PolicyConformance, ThePoolStaysWithinTheBudget) {
  ask_random_questions<TypeParam>(1 << 19, [](const memory::policy& policy, const policy_question& q) {
    if (policy.decide(q.state, q.request).where != memory::placement::pool) return;
    EXPECT_LE(q.request.bytes, q.state.budget_bytes - q.state.pool_bytes);
  });
}

TYPED_TEST_P(PolicyConformance, PlacementsAreThoseThatTheTraitsAnnounce) {
  ask_random_questions<TypeParam>(1 << 19, [](const memory::policy& policy, const policy_question& q) {
    const memory::decision given = policy.decide(q.state, q.request);
    const memory::eviction order = policy.traits().order;
    const bool driver = order == memory::eviction::least_recent_migration;
    EXPECT_EQ(policy.traits().moves(), order != memory::eviction::none);
    if (given.where == memory::placement::managed) {
      EXPECT_TRUE(driver);
    }
    if (given.where == memory::placement::paged) {
      EXPECT_TRUE(policy.traits().moves() && !driver);
    }
    if (given.hint != memory::advice::none) {
      EXPECT_EQ(given.where, memory::placement::managed);
    }
  });
}

TYPED_TEST_P(PolicyConformance, RefusesOnlyWhatThePoolCannotHold) {
  ask_random_questions<TypeParam>(1 << 19, [](const memory::policy& policy, const policy_question& q) {
    if (policy.decide(q.state, q.request).where != memory::placement::refuse) return;
    EXPECT_GT(q.request.bytes, q.state.budget_bytes - q.state.pool_bytes);
    EXPECT_NE(policy.traits().order, memory::eviction::least_recent_migration);
    if (policy.traits().moves()) {
      EXPECT_EQ(q.request.cls, memory::object_class::scratch);
    }
  });
}

TYPED_TEST_P(PolicyConformance, UnlimitedBudgetServesEverything) {
  const auto runtime = this->make_runtime(0, true);
  std::vector<memory::buffer> held;
  for (int i = 0; i < 64; ++i) {
    held.push_back(runtime->allocate(std::size_t{1} << 40, memory::object_class::evaluation_key, "key"));
  }
  EXPECT_EQ(runtime->statistics().live_bytes, std::size_t{64} << 40);
}

TYPED_TEST_P(PolicyConformance, NeverExceedsTheBudget) {
  constexpr std::size_t budget = 1 << 16;
  const auto runtime = this->make_runtime(budget);
  std::vector<memory::buffer> held;
  try {
    for (int i = 0; i < 100; ++i) {
      held.push_back(runtime->allocate(1000, memory::object_class::ciphertext, "ciphertext"));
      const memory::operand all{&held.back(), 0, 1000};
      (void)runtime->acquire({}, {&all, 1}, "write");
      EXPECT_LE(runtime->statistics().fast_bytes, budget);
    }
    EXPECT_TRUE(runtime->moves()) << "100 KB in a budget of 64 KiB, and nothing has moved";
  } catch (const out_of_memory&) {  // a policy without a slow tier, or whose pool is full
  }
  EXPECT_LE(runtime->statistics().peak_fast_bytes, budget);
}

TYPED_TEST_P(PolicyConformance, RandomProgramsReadWhatTheyWrote) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const memory_program program = program_maker(seed, {}).make();
    // Policies that move bytes get a third of what they need; half of what is left may be locked in the pool.
    const std::size_t all = live_bytes_of(program) + (std::size_t{1} << 20);
    const bool moves = memory::make_policy(TypeParam::name, options_of<TypeParam>()).traits().moves();
    const std::size_t budget = moves ? all / 3 : all;
    const auto runtime = this->make_runtime(budget);
    memory_machine machine(runtime, program);
    machine.run([&](const memory::runtime& at) { EXPECT_LE(at.statistics().fast_bytes, budget); });
    machine.check_all();
    EXPECT_LE(runtime->statistics().peak_fast_bytes, budget);
    machine.clear();
    EXPECT_EQ(runtime->statistics().live_bytes, 0U);
    EXPECT_EQ(runtime->slow_statistics().slots, 0U);
    runtime->trim();
    EXPECT_EQ(runtime->statistics().fast_bytes, 0U);
  }
}

TYPED_TEST_P(PolicyConformance, StatisticsReturnToTheBaseline) {
  const auto runtime = this->make_runtime(1 << 20);
  { const auto held = runtime->allocate(5000, memory::object_class::plaintext, "p"); }
  const memory::stats after = runtime->statistics();
  EXPECT_EQ(after.live_bytes, 0U);
  EXPECT_EQ(after.live_buffers, 0U);
  EXPECT_EQ(after.allocations, after.frees);
}

TYPED_TEST_P(PolicyConformance, SecretsNeverLeaveTheFastTier) {
  constexpr std::size_t size = 4096;
  const std::vector<std::byte> pattern(8, std::byte{0xD1});
  for (std::size_t i = 0; i < memory::object_class_count; ++i) {
    const auto cls = static_cast<memory::object_class>(i);
    SCOPED_TRACE(to_string(cls));
    auto slow = std::make_shared<watching_store>(memory::make_memory_store(), pattern);
    const auto runtime = this->make_runtime(1 << 16, false, slow);
    auto secret = runtime->allocate(size, cls, "secret", true);
    const memory::operand whole{&secret, 0, size};
    {
      const auto at = runtime->acquire({}, {&whole, 1}, "write");
      std::fill_n(at.pointer(secret), size, pattern.front());
    }
    std::vector<memory::buffer> others;
    try {
      for (int j = 0; j < 40; ++j) {
        others.push_back(runtime->allocate(size, memory::object_class::ciphertext, "ciphertext"));
        const memory::operand all{&others.back(), 0, size};
        const auto at = runtime->acquire({}, {&all, 1}, "write");
        std::fill_n(at.pointer(others.back()), size, std::byte{1});
      }
      EXPECT_GT(slow->writes(), 0U) << "160 KiB in a budget of 64 KiB, and nothing was written back";
    } catch (const out_of_memory&) {
      EXPECT_FALSE(runtime->moves());
    }
    {
      const auto before = runtime->slow_statistics().reads;
      const auto at = runtime->acquire({&whole, 1}, {}, "read");
      EXPECT_EQ(runtime->slow_statistics().reads, before);
      EXPECT_EQ(std::count(at.pointer(secret), at.pointer(secret) + size, pattern.front()), 4096);
    }
    secret = {};
    EXPECT_EQ(slow->found(), 0U) << "a secret was written to the slow tier";
  }
}

REGISTER_TYPED_TEST_SUITE_P(PolicyConformance, IsFoundByName, DecisionIsAPureFunction,
                            UnlimitedBudgetRefusesNothing, ThePoolStaysWithinTheBudget,
                            PlacementsAreThoseThatTheTraitsAnnounce, RefusesOnlyWhatThePoolCannotHold,
                            UnlimitedBudgetServesEverything, NeverExceedsTheBudget,
                            RandomProgramsReadWhatTheyWrote, StatisticsReturnToTheBaseline,
                            SecretsNeverLeaveTheFastTier);

}  // namespace halocline::test
