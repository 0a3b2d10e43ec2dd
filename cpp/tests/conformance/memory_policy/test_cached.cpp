// SPDX-License-Identifier: Apache-2.0
#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct cached_case {
  static constexpr const char* name = "cached";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cached, PolicyConformance, cached_case);

TEST(CachedPolicy, UsesThePoolUpToTheLastByteOfTheBudget) {
  const memory::policy policy = memory::make_policy("cached");
  memory::policy_state state;
  state.budget_bytes = 1000;
  state.pool_bytes = 400;
  EXPECT_EQ(policy.decide(state, {600, memory::object_class::evaluation_key, "x", 0}),
            memory::decision{memory::placement::pool});
  EXPECT_EQ(policy.decide(state, {601, memory::object_class::evaluation_key, "x", 0}),
            memory::decision{memory::placement::refuse});
  EXPECT_EQ(policy.decide(state, {~std::size_t{0}, memory::object_class::scratch, "x", 0}),
            memory::decision{memory::placement::refuse});
}

TEST(CachedPolicy, KeepsFreedBlocksForTheSmallestFit) {
  EXPECT_EQ(memory::make_policy("cached").traits().reuse, memory::block_reuse::smallest_fit);
  EXPECT_FALSE(memory::make_policy("cached").traits().moves());
}

}  // namespace
}  // namespace halocline::test
