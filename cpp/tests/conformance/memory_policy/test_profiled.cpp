// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct profiled_case {
  static constexpr const char* name = "profiled";
  static memory::policy_options options() {
    memory::policy_options result;
    result.decisions = std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{0, 1, 1});
    return result;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Profiled, PolicyConformance, profiled_case);

TEST(ProfiledPolicy, FollowsTheListAndManagesWhatIsBeyondIt) {
  const auto policy = memory::make_policy("profiled", profiled_case::options());
  memory::policy_state state;
  state.budget_bytes = 1000;
  const auto where = [&](std::uint64_t ordinal, std::size_t bytes) {
    return policy.decide(state, {bytes, memory::object_class::ciphertext, "x", ordinal}).where;
  };
  EXPECT_EQ(where(0, 10), memory::placement::managed);
  EXPECT_EQ(where(1, 1000), memory::placement::pool);
  EXPECT_EQ(where(2, 1001), memory::placement::managed);
  EXPECT_EQ(where(3, 10), memory::placement::managed);
}

TEST(ProfiledPolicy, NeedsDecisionsThatAreZeroOrOne) {
  EXPECT_THROW((void)memory::make_policy("profiled"), invalid_argument);
  memory::policy_options bad;
  bad.decisions = std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{0, 2});
  EXPECT_THROW((void)memory::make_policy("profiled", bad), invalid_argument);
}

}  // namespace
}  // namespace halocline::test
