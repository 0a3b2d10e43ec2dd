// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

using memory::advice;
using memory::decision;
using memory::object_class;
using memory::placement;

constexpr std::size_t most = ~std::size_t{0};
using history = std::vector<std::uint64_t>;
const history brief{7, 7, 7}, steady(10, 7), wide{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/// What a policy is asked, but for the class of the object.
struct situation {
  std::size_t budget, pool, live, bytes;
  std::uint64_t ordinal;
  history recent;  ///< empty: the size was never seen
};

const std::array<situation, 12> situations{{
    {0, 0, 0, 600, 0, {}},
    {0, most, most, most, 1, steady},
    {1000, 400, 400, 600, 0, {}},
    {1000, 400, 400, 601, 0, {}},
    {1000, 400, 5000, 600, 1, steady},
    {1000, 400, 5000, 601, 1, steady},
    {1000, 0, 0, 1000, 1, wide},
    {1000, 0, 0, 1001, 1, steady},
    {1000, 0, 0, 10, 1, brief},
    {1000, 1000, 1000, 1, 1, steady},
    {most, most, most, 1, 1, steady},
    {1000, 0, 0, 10, 3, steady},
}};

/// What a policy must answer: per situation one letter for each class of objects, in their order. P pool,
/// G paged, R refuse, M managed, m managed and read mostly, D managed and preferred on the device. The
/// fingerprint is over all combinations of `fingerprint`. Taken from the implementation with one class per
/// policy.
struct expectation {
  const char* policy;
  std::array<const char*, 12> answers;
  std::uint64_t fingerprint;
};

constexpr std::array<expectation, 9> expected{{
    {"resident",
     {"PPPPP", "PPPPP", "PPPPP", "RRRRR", "RRRRR", "RRRRR", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "RRRRR",
      "PPPPP"},
     0x5b42724cf7dba625},
    {"async",
     {"PPPPP", "PPPPP", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "RRRRR",
      "PPPPP"},
     0x42e58799342da625},
    {"managed",
     {"MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM",
      "MMMMM"},
     0x2200d5be311b4f25},
    {"static",
     {"mmMPD", "mmMPD", "mmMPD", "mmMMD", "mmMPD", "mmMMD", "mmMPD", "mmMMD", "mmMPD", "mmMMD", "mmMMD",
      "mmMPD"},
     0xc71019c879755565},
    {"profiled",
     {"MMMMM", "PPPPP", "MMMMM", "MMMMM", "PPPPP", "MMMMM", "PPPPP", "MMMMM", "PPPPP", "MMMMM", "MMMMM",
      "MMMMM"},
     0xf52bd4871da9e635},
    {"dynamic",
     {"MMMMM", "PPPPP", "MMMMM", "MMMMM", "PPPPP", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM", "MMMMM",
      "PPPPP"},
     0xb001e0934256e865},
    {"cached",
     {"PPPPP", "PPPPP", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "PPPPP", "RRRRR", "RRRRR",
      "PPPPP"},
     0x42e58799342da625},
    {"lru",
     {"GGGPG", "GGGPG", "GGGPG", "GGGRG", "GGGPG", "GGGRG", "GGGPG", "GGGRG", "GGGPG", "GGGRG", "GGGRG",
      "GGGPG"},
     0xe3c8189ed8021da5},
    {"planned",
     {"GGGPG", "GGGPG", "GGGPG", "GGGRG", "GGGPG", "GGGRG", "GGGPG", "GGGRG", "GGGPG", "GGGRG", "GGGRG",
      "GGGPG"},
     0xe3c8189ed8021da5},
}};

memory::policy_options with_decisions() {
  memory::policy_options constants;
  constants.decisions = std::make_shared<const std::vector<std::uint8_t>>(std::vector<std::uint8_t>{0, 1, 0});
  return constants;
}

char letter_of(const decision& given) {
  switch (given.where) {
    case placement::pool:
      return 'P';
    case placement::paged:
      return 'G';
    case placement::refuse:
      return 'R';
    case placement::managed:
      break;
  }
  return given.hint == advice::none ? 'M' : given.hint == advice::read_mostly ? 'm' : 'D';
}

std::string answers_of(const memory::policy& policy, const situation& at) {
  memory::size_history past{at.recent.empty() ? 0 : at.recent.back(), at.recent};
  memory::policy_state state;
  state.budget_bytes = at.budget;
  state.pool_bytes = at.pool;
  state.counters.live_bytes = at.live;
  state.history = at.recent.empty() ? nullptr : &past;
  std::string letters;
  for (std::size_t i = 0; i < memory::object_class_count; ++i) {
    letters += letter_of(policy.decide(state, {at.bytes, static_cast<object_class>(i), "x", at.ordinal}));
  }
  return letters;
}

/// FNV-1a over the answers to 15360 questions.
std::uint64_t fingerprint(const memory::policy& policy) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1000}, most})
    for (const std::size_t pool : {std::size_t{0}, std::size_t{400}, std::size_t{1000}, most})
      for (const std::size_t live : {std::size_t{0}, std::size_t{400}, std::size_t{5000}, most})
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{600}, std::size_t{601}, most})
          for (const std::uint64_t ordinal : {0, 1, 2, 3})
            for (const history& recent : {history{}, brief, steady, wide})
              for (const char letter : answers_of(policy, {budget, pool, live, bytes, ordinal, recent}))
                hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash;
}

TEST(Policies, AllNineDecideByTheTable) {
  ASSERT_EQ(memory::policy_names().size(), expected.size());
  for (const expectation& each : expected) {
    const memory::policy policy = memory::make_policy(each.policy, with_decisions());
    for (std::size_t i = 0; i < situations.size(); ++i) {
      EXPECT_EQ(answers_of(policy, situations[i]), each.answers[i]) << each.policy << ", situation " << i;
    }
    EXPECT_EQ(fingerprint(policy), each.fingerprint) << each.policy;
  }
}

TEST(Policies, AskTheMachineryForWhatTheTableSays) {
  using memory::block_reuse;
  using memory::eviction;
  struct row {
    const char* policy;
    eviction order;
    block_reuse reuse;
    bool looks_back;
  };
  const row rows[] = {
      {"resident", eviction::none, block_reuse::stream_ordered, false},
      {"async", eviction::none, block_reuse::stream_ordered, false},
      {"managed", eviction::least_recent_migration, block_reuse::stream_ordered, false},
      {"static", eviction::least_recent_migration, block_reuse::stream_ordered, false},
      {"profiled", eviction::least_recent_migration, block_reuse::stream_ordered, false},
      {"dynamic", eviction::least_recent_migration, block_reuse::stream_ordered, true},
      {"cached", eviction::none, block_reuse::smallest_fit, false},
      {"lru", eviction::least_recent_use, block_reuse::stream_ordered, false},
      {"planned", eviction::planned, block_reuse::stream_ordered, false},
  };
  for (const row& each : rows) {
    const memory::policy_traits traits = memory::make_policy(each.policy, with_decisions()).traits();
    EXPECT_EQ(traits.order, each.order) << each.policy;
    EXPECT_EQ(traits.reuse, each.reuse) << each.policy;
    EXPECT_EQ(traits.looks_back, each.looks_back) << each.policy;
  }
}

}  // namespace
}  // namespace halocline::test
