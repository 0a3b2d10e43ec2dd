// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/policy/room.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

TEST(Policies, AreListedInTheOrderOfTheDocumentation) {
  EXPECT_EQ(memory::policy_names(),
            (std::vector<std::string>{"resident", "async", "managed", "static", "profiled", "dynamic",
                                      "cached", "lru", "planned"}));
}

TEST(Policies, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  const std::string message = message_of<invalid_argument>([] { (void)memory::make_policy("fastest"); });
  EXPECT_THAT(message, testing::HasSubstr("'fastest'"));
  for (const std::string& name : memory::policy_names()) EXPECT_THAT(message, testing::HasSubstr(name));
}

TEST(Policies, ProfiledSaysHowToGetDecisions) {
  EXPECT_THAT(message_of<invalid_argument>([] { (void)memory::make_policy("profiled"); }),
              testing::HasSubstr("make_decisions"));
}

TEST(Policies, RoomOfThePoolHasNoOverflow) {
  constexpr std::size_t huge = ~std::size_t{0};
  memory::policy_state state;
  state.pool_bytes = huge;
  EXPECT_TRUE(memory::pool_has_room(state, huge));  // no budget
  state.budget_bytes = huge;
  EXPECT_FALSE(memory::pool_has_room(state, 1));
  EXPECT_TRUE(memory::pool_has_room(state, 0));
  state.pool_bytes = 0;
  EXPECT_TRUE(memory::pool_has_room(state, huge));
}

}  // namespace
}  // namespace halocline::test
