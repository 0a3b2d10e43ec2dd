// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/runtime.hpp"

/// What every memory policy must satisfy. A policy's test instantiates `PolicyConformance` with a type that
/// has `static constexpr const char* name`.
namespace halocline::test {

template <typename PolicyT>
class PolicyConformance : public testing::Test {
 protected:
  [[nodiscard]] static std::shared_ptr<memory::runtime> make_runtime(std::size_t budget, bool ghost = false) {
    memory::runtime_options options;
    options.policy = PolicyT::name;
    options.budget_bytes = budget;
    options.ghost = ghost;
    return memory::runtime::create(options);
  }
};

TYPED_TEST_SUITE_P(PolicyConformance);

TYPED_TEST_P(PolicyConformance, IsFoundByName) {
  EXPECT_EQ(memory::make_policy(TypeParam::name)->name(), TypeParam::name);
}

TYPED_TEST_P(PolicyConformance, DecisionIsAPureFunction) {
  const auto policy = memory::make_policy(TypeParam::name);
  memory::policy_state state;
  state.budget_bytes = 1000;
  state.counters.live_bytes = 400;
  const memory::allocation_request request{600, memory::object_class::scratch, "x", 0};
  EXPECT_EQ(policy->decide(state, request), policy->decide(state, request));
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
  bool refused = false;
  for (int i = 0; i < 100 && !refused; ++i) {
    try {
      held.push_back(runtime->allocate(1000, memory::object_class::ciphertext, "ciphertext"));
    } catch (const out_of_memory&) {
      refused = true;
    }
    EXPECT_LE(runtime->statistics().live_bytes, budget);
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

REGISTER_TYPED_TEST_SUITE_P(PolicyConformance, IsFoundByName, DecisionIsAPureFunction,
                            UnlimitedBudgetServesEverything, NeverExceedsTheBudget,
                            StatisticsReturnToTheBaseline);

}  // namespace halocline::test
