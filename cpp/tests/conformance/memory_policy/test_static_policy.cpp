// SPDX-License-Identifier: Apache-2.0
#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct static_case {
  static constexpr const char* name = "static";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Static, PolicyConformance, static_case);

TEST(StaticPolicy, PoolsScratchWhileItFitsAndManagesTheRestWithAdvice) {
  using enum memory::object_class;
  const memory::policy policy = memory::make_policy("static");
  memory::policy_state state;
  state.budget_bytes = 1000;
  state.pool_bytes = 400;
  const auto decide = [&](memory::object_class cls, std::size_t bytes) {
    return policy.decide(state, {bytes, cls, "x", 0});
  };
  EXPECT_EQ(decide(scratch, 600), memory::decision{memory::placement::pool});
  EXPECT_EQ(decide(scratch, 601), memory::decision{memory::placement::managed});
  EXPECT_EQ(decide(ciphertext, 1), memory::decision{memory::placement::managed});
  EXPECT_EQ(decide(table, 1),
            (memory::decision{memory::placement::managed, memory::advice::preferred_device}));
  for (const memory::object_class cls : {evaluation_key, plaintext}) {
    EXPECT_EQ(decide(cls, 1), (memory::decision{memory::placement::managed, memory::advice::read_mostly}));
  }
}

}  // namespace
}  // namespace halocline::test
