// SPDX-License-Identifier: Apache-2.0
#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct resident_case {
  static constexpr const char* name = "resident";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Resident, PolicyConformance, resident_case);

TEST(ResidentPolicy, PlacesUpToTheLastByteOfTheBudget) {
  const memory::policy policy = memory::make_policy("resident");
  memory::policy_state state;
  state.budget_bytes = 1000;
  state.counters.live_bytes = 400;
  EXPECT_EQ(policy.decide(state, {600, memory::object_class::scratch, "x", 0}),
            memory::decision{memory::placement::pool});
  EXPECT_EQ(policy.decide(state, {601, memory::object_class::scratch, "x", 0}),
            memory::decision{memory::placement::refuse});
  EXPECT_EQ(policy.decide(state, {~std::size_t{0}, memory::object_class::scratch, "x", 0}),
            memory::decision{memory::placement::refuse});
}

}  // namespace
}  // namespace halocline::test
