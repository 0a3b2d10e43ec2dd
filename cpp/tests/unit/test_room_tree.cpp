// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/room_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace halocline::memory::plan {
namespace {

TEST(RoomTree, AgreesWithAList) {
  std::mt19937 random(1);
  for (const step_index steps : {1U, 2U, 7U, 64U, 100U}) {
    std::vector<std::int64_t> list(steps);
    for (std::int64_t& each : list) each = random() % 20;
    room_tree tree(list);
    for (int i = 0; i < 500; ++i) {
      const step_index a = random() % (steps + 1), b = random() % (steps + 1);
      const step_index begin = std::min(a, b), end = std::max(a, b);
      const std::int64_t pages = static_cast<std::int64_t>(random() % 9) - 4;
      tree.add(begin, end, pages);
      for (step_index s = begin; s < end; ++s) list[s] += pages;
      if (begin < end) {
        ASSERT_EQ(tree.least(begin, end), *std::min_element(list.begin() + begin, list.begin() + end));
      }
      const std::int64_t wanted = random() % 20;
      step_index earliest = end;
      while (earliest > begin && list[earliest - 1] >= wanted) --earliest;
      ASSERT_EQ(tree.earliest(begin, end, wanted), earliest);
      step_index first_short = begin;
      while (first_short < end && list[first_short] >= wanted) ++first_short;
      ASSERT_EQ(tree.first_short(begin, end, wanted), first_short);
    }
  }
}

TEST(RoomTree, WithoutSteps) {
  room_tree none({});
  none.add(0, 0, 5);
  EXPECT_EQ(none.earliest(0, 0, 1), 0U);
  EXPECT_GT(none.least(0, 0), 1'000'000);
}

}  // namespace
}  // namespace halocline::memory::plan
