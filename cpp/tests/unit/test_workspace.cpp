// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/workspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "memory/tier/extent_list.hpp"

namespace {

using namespace halocline::memory;

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

std::uint64_t bytes_of(const std::vector<workspace::range>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& each) { return sum + each.second; });
}

TEST(Workspace, TemporariesMadeInTheSameOrderGetTheSamePages) {
  workspace area;
  std::vector<workspace::range> bare;
  std::vector<std::uint64_t> first;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::uint64_t> places;
    for (const std::uint64_t bytes : {3 * MiB, 14 * MiB, MiB}) {
      places.push_back(area.take(bytes, side::high, bare).value());
    }
    if (round == 0) first = places;
    EXPECT_EQ(places, first);
    EXPECT_EQ(bytes_of(bare), 18 * MiB) << "pages are missing in the first round only";
    area.give(places[1], 14 * MiB);
    area.give(places[0], 3 * MiB);
    area.give(places[2], MiB);
    EXPECT_EQ(area.free_bytes(), 18 * MiB);
  }
}

TEST(Workspace, TheTwoSidesShareThePagesBetweenThem) {
  workspace area;
  std::vector<workspace::range> bare;
  const std::uint64_t all = area.take(8 * MiB, side::low, bare).value();
  area.give(all, 8 * MiB);
  bare.clear();
  EXPECT_EQ(area.take(2 * MiB, side::low, bare), all);
  EXPECT_EQ(area.take(3 * MiB, side::high, bare), all + 5 * MiB);
  EXPECT_EQ(area.take(3 * MiB, side::low, bare), all + 2 * MiB);
  EXPECT_TRUE(bare.empty());
  EXPECT_EQ(area.free_bytes(), 0U);
}

TEST(Workspace, PlacesALargerFrameWhereMostPagesAre) {
  workspace area;
  std::vector<workspace::range> bare;
  const std::uint64_t begin = area.take(6 * MiB, side::low, bare).value();
  area.give(begin, 2 * MiB);
  area.give(begin + 3 * MiB, 3 * MiB);  // [2, 3) stays in use
  bare.clear();
  EXPECT_EQ(area.take(4 * MiB, side::low, bare), begin + 3 * MiB);
  ASSERT_EQ(bare.size(), 1U);
  EXPECT_EQ(bare[0], (workspace::range{begin + 6 * MiB, MiB}));
}

TEST(Workspace, LendsPagesAndKeepsTheirAddresses) {
  workspace area;
  std::vector<workspace::range> bare;
  const std::uint64_t begin = area.take(4 * MiB, side::low, bare).value();
  area.give(begin, 4 * MiB);
  EXPECT_EQ(area.take_pages(MiB + 5, MiB), (workspace::range{begin + 3 * MiB, MiB}));
  EXPECT_FALSE(area.take_pages(16 * MiB, 4 * MiB));
  EXPECT_EQ(area.free_bytes(), 3 * MiB);
  bare.clear();
  EXPECT_EQ(area.take(4 * MiB, side::low, bare), begin);
  ASSERT_EQ(bare.size(), 1U);
  EXPECT_EQ(bare[0], (workspace::range{begin + 3 * MiB, MiB}));
}

TEST(Workspace, TakesMoreAddressesWhenItNeedsThem) {
  workspace area;
  std::vector<workspace::range> bare;
  const std::uint64_t large = area.take(1024 * MiB, side::high, bare).value();
  const std::uint64_t other = area.take(1024 * MiB, side::high, bare).value();
  EXPECT_TRUE(area.contains(large) && area.contains(other + 1024 * MiB - 1));
  EXPECT_FALSE(area.contains(reinterpret_cast<std::uintptr_t>(&area)));
  EXPECT_FALSE(area.take(std::uint64_t{1} << 62, side::low, bare));
}

TEST(ExtentList, TakesWholeUnitsBeforeOddPieces) {
  extent_list parts;
  parts.give(0, 7);
  parts.give(20, 30);
  parts.give(100, 13);
  EXPECT_EQ(parts.take_up_to(20, 10), (std::pair<std::uint64_t, std::uint64_t>{100, 10}));
  EXPECT_EQ(parts.take_up_to(20, 10), (std::pair<std::uint64_t, std::uint64_t>{20, 20}));
  EXPECT_EQ(parts.take_last(20, 10), (std::pair<std::uint64_t, std::uint64_t>{40, 10}));
  EXPECT_FALSE(parts.take_last(20, 10));
  EXPECT_FALSE(parts.take_up_to(20, 10));
  EXPECT_EQ(parts.total(), 10U);
  EXPECT_EQ(parts.take_last(2), (std::pair<std::uint64_t, std::uint64_t>{111, 2}));
}

/// Against a list of single bytes.
TEST(ExtentList, RemovesAndCountsAnyRange) {
  extent_list parts;
  std::vector<bool> there(200, false);
  std::mt19937 random(5);
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t from = random() % 200, bytes = 1 + random() % (200 - from);
    std::uint64_t expected = 0;
    for (std::uint64_t at = from; at < from + bytes; ++at) expected += there[at] ? 1 : 0;
    ASSERT_EQ(parts.bytes_in(from, bytes), expected);
    if (random() % 2 == 0) {
      parts.remove(from, bytes);
      for (std::uint64_t at = from; at < from + bytes; ++at) there[at] = false;
    } else if (expected == 0) {
      parts.give(from, bytes);
      for (std::uint64_t at = from; at < from + bytes; ++at) there[at] = true;
    }
    ASSERT_EQ(parts.total(), parts.bytes_in(0, 200));
    std::uint64_t largest = 0;
    for (const auto& each : parts.list()) largest = std::max(largest, each.second);
    ASSERT_EQ(parts.largest(), largest);
  }
}

}  // namespace
