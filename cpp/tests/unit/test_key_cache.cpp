// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/key_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "halocline/core/error.hpp"

namespace halocline::test {
namespace {

using memory::sim::key_loads;
using memory::sim::key_replacement;
using sequence = std::vector<std::uint64_t>;

// Belady's anomaly (Belady, Nelson, Shedler 1969): FIFO loads more with four places than with three.
const sequence anomaly{1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};

TEST(KeyCache, CountsByHand) {
  EXPECT_EQ(key_loads(anomaly, 3, key_replacement::fifo), 9U);
  EXPECT_EQ(key_loads(anomaly, 4, key_replacement::fifo), 10U);
  EXPECT_EQ(key_loads(anomaly, 3, key_replacement::lru), 10U);
  EXPECT_EQ(key_loads(anomaly, 4, key_replacement::lru), 8U);
  EXPECT_EQ(key_loads(anomaly, 3, key_replacement::min), 7U);
  EXPECT_EQ(key_loads(anomaly, 4, key_replacement::min), 6U);
}

TEST(KeyCache, CyclesAreTheWorstCaseOfLru) {
  sequence cycle;
  for (std::uint64_t i = 0; i < 40; ++i) cycle.push_back(i % 5);
  EXPECT_EQ(key_loads(cycle, 4, key_replacement::lru), 40U);
  EXPECT_EQ(key_loads(cycle, 4, key_replacement::fifo), 40U);
  // Five loads to begin with; from then on one place changes: a load per four uses.
  EXPECT_EQ(key_loads(cycle, 4, key_replacement::min), 13U);
  EXPECT_EQ(key_loads(cycle, 5, key_replacement::lru), 5U);
}

TEST(KeyCache, LookAheadReachesFromLruToTheOptimum) {
  sequence keys;
  std::uint64_t state = 12345;
  for (int i = 0; i < 600; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    keys.push_back((state >> 33) % 40);
  }
  const std::uint64_t lru = key_loads(keys, 12, key_replacement::lru);
  const std::uint64_t best = key_loads(keys, 12, key_replacement::min);
  EXPECT_EQ(key_loads(keys, 12, key_replacement::min, 0), lru);
  EXPECT_EQ(key_loads(keys, 12, key_replacement::min, keys.size()), best);
  const std::uint64_t between = key_loads(keys, 12, key_replacement::min, 20);
  EXPECT_LT(between, lru);
  EXPECT_GT(between, best);
}

TEST(KeyCache, HasLimits) {
  EXPECT_EQ(key_loads({}, 3, key_replacement::lru), 0U);
  EXPECT_EQ(key_loads(anomaly, 1, key_replacement::min), anomaly.size());
  for (const key_replacement rule : {key_replacement::fifo, key_replacement::lru, key_replacement::min}) {
    EXPECT_EQ(key_loads(anomaly, 100, rule), 5U);
    EXPECT_THROW((void)key_loads(anomaly, 0, rule), invalid_argument);
  }
}

}  // namespace
}  // namespace halocline::test
