// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/use_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace halocline::memory::plan {
namespace {

TEST(UseSet, AgreesWithASortedSet) {
  std::mt19937 random(1);
  for (const std::uint32_t limit : {1U, 63U, 64U, 65U, 4096U, 4097U, 300'000U}) {
    use_set tested(limit);
    std::set<use_index> expected;
    std::uniform_int_distribution<use_index> draw(0, limit - 1);
    for (int i = 0; i < 2000; ++i) {
      const use_index value = draw(random);
      if (random() % 2 == 0) {
        tested.insert(value);
        expected.insert(value);
      } else {
        tested.erase(value);
        expected.erase(value);
      }
      ASSERT_EQ(tested.empty(), expected.empty());
      ASSERT_EQ(tested.last(), expected.empty() ? no_use : *expected.rbegin());
      const use_index bound = draw(random);
      const auto above = expected.lower_bound(bound);
      ASSERT_EQ(tested.below(bound), above == expected.begin() ? no_use : *std::prev(above));
    }
  }
}

TEST(UseSet, WithoutMembers) {
  use_set none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.last(), no_use);
  none.erase(0);
  use_set some(10);
  some.insert(0);
  EXPECT_EQ(some.below(0), no_use);
  some.erase(0);
  EXPECT_TRUE(some.empty());
}

}  // namespace
}  // namespace halocline::memory::plan
