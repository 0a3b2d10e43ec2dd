// SPDX-License-Identifier: Apache-2.0
#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct dynamic_case {
  static constexpr const char* name = "dynamic";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Dynamic, PolicyConformance, dynamic_case);

memory::placement decide(std::vector<std::uint64_t> recent, std::size_t bytes = 10) {
  memory::policy_options constants;
  constants.history_needed = 4;
  constants.range_limit = 3;
  const memory::policy policy = memory::make_policy("dynamic", constants);
  const memory::size_history history{recent.empty() ? 0 : recent.back(), std::move(recent)};
  memory::policy_state state;
  state.budget_bytes = 1000;
  state.history = &history;
  return policy.decide(state, {bytes, memory::object_class::ciphertext, "x", 0}).where;
}

TEST(DynamicPolicy, PoolsSizesWhoseLiveCountIsSteady) {
  EXPECT_EQ(decide({1, 1, 1}), memory::placement::managed);  // too short a past
  EXPECT_EQ(decide({5, 7, 6, 5}), memory::placement::pool);
  EXPECT_EQ(decide({5, 8, 6, 5}), memory::placement::managed);  // range 3
  EXPECT_EQ(decide({5, 7, 6, 5}, 1001), memory::placement::managed);
}

TEST(DynamicPolicy, ChecksItsConstants) {
  memory::policy_options options;
  options.range_limit = 0;
  EXPECT_THROW((void)memory::make_policy("dynamic", options), invalid_argument);
  options = {};
  options.history_needed = 11;
  EXPECT_THROW((void)memory::make_policy("dynamic", options), invalid_argument);
}

}  // namespace
}  // namespace halocline::test
