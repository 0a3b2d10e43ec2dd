// SPDX-License-Identifier: Apache-2.0
#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct managed_case {
  static constexpr const char* name = "managed";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Managed, PolicyConformance, managed_case);

TEST(ManagedPolicy, LeavesEverythingToTheDriver) {
  const memory::policy policy = memory::make_policy("managed");
  memory::policy_state state;
  state.budget_bytes = 1000;
  for (std::size_t i = 0; i < memory::object_class_count; ++i) {
    const auto cls = static_cast<memory::object_class>(i);
    EXPECT_EQ(policy.decide(state, {5000, cls, "x", 0}), memory::decision{memory::placement::managed});
  }
}

}  // namespace
}  // namespace halocline::test
