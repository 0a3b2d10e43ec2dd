// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/level_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::params {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

literal with(double base_bits, double scale_bits, double terminal_bits, unsigned depth) {
  literal source;
  source.base_bits = base_bits;
  source.scale_bits = scale_bits;
  source.terminal_bits = terminal_bits;
  source.depth = depth;
  return source;
}

TEST(LevelTable, ShapesOfThe20And30BitPrimes) {
  const std::vector<level_shape> expected = {{0, 2}, {2, 2}, {1, 4},  {0, 6},
                                             {2, 6}, {1, 8}, {0, 10}, {2, 10}};
  EXPECT_EQ(plan_levels(with(60, 40, 20, 7)), expected);
}

TEST(LevelTable, ShapesOfThe25And30BitPrimes) {
  const std::vector<level_shape> expected = {{0, 2}, {4, 0}, {2, 3}, {0, 6}, {4, 4}, {2, 7}, {0, 10}, {4, 8}};
  EXPECT_EQ(plan_levels(with(60, 40, 25, 7)), expected);
  // All six residues occur with a 35-bit scale.
  const std::vector<level_shape> all = {{1, 1}, {0, 3}, {5, 0}, {4, 2}, {3, 4}, {2, 6}, {1, 8}};
  EXPECT_EQ(plan_levels(with(55, 35, 25, 6)), all);
}

TEST(LevelTable, ShapesOf64BitWords) {
  literal source = with(60, 50, 0, 3);
  source.word_bits = 64;
  EXPECT_EQ(plan_levels(source), (std::vector<level_shape>{{0, 1}, {0, 2}, {0, 3}, {0, 4}}));
}

TEST(LevelTable, RefusesAndSuggests) {
  EXPECT_THAT([] { (void)plan_levels(with(65, 40, 20, 2)); },
              ThrowsMessage<invalid_argument>(::testing::AllOf(
                  HasSubstr("level 0 needs a modulus of 65 bits"), HasSubstr("set base_bits to 70"))));
  EXPECT_THAT([] { (void)plan_levels(with(60, 41, 20, 2)); },
              ThrowsMessage<invalid_argument>(::testing::AllOf(
                  HasSubstr("level 1 needs a modulus of 101 bits"), HasSubstr("choose scale_bits"))));
}

TEST(LevelTable, WindowsScalesAndSteps) {
  // Small numbers so that everything can be followed: special 7; terminals 5, 3; mains 11, 13, 17, 19.
  const std::vector<std::uint64_t> primes = {7, 5, 3, 11, 13, 17, 19};
  const std::vector<level_shape> shapes = {{0, 2}, {2, 2}, {1, 4}};
  const std::vector<level_target> targets(3, {level_use::message, std::log2(10.0), 0});
  const auto table = make_level_table(primes, 1, 2, shapes, targets);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0].q, (arith::window{3, 2}));
  EXPECT_EQ(table[1].q, (arith::window{1, 4}));
  EXPECT_EQ(table[2].q, (arith::window{2, 5}));
  EXPECT_TRUE(table[0].dropped.empty() && table[0].added.empty());
  EXPECT_EQ(table[1].dropped, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(table[1].added.empty());
  EXPECT_EQ(table[2].dropped, (std::vector<std::uint32_t>{5, 6}));
  EXPECT_EQ(table[2].added, (std::vector<std::uint32_t>{1}));
  EXPECT_DOUBLE_EQ(table[0].scale, 10);
  EXPECT_DOUBLE_EQ(table[1].scale, std::sqrt(10.0 * 15));
  EXPECT_DOUBLE_EQ(table[2].scale, std::sqrt(std::sqrt(150.0) * 17 * 19 / 5));
  EXPECT_DOUBLE_EQ(table[2].log2_modulus, std::log2(3.0 * 11 * 13 * 17 * 19));
  const std::span<const level_target> one(targets.data(), 1);
  EXPECT_THROW((void)make_level_table(primes, 1, 2, std::vector<level_shape>{{0, 5}}, one), invalid_argument);
  EXPECT_THROW((void)make_level_table(primes, 1, 2, std::vector<level_shape>{{3, 1}}, one), invalid_argument);
  EXPECT_THROW((void)make_level_table(primes, 1, 2, shapes, one), invalid_argument);
}

// A deviation of the bottom scale is halved at each level instead of doubled.
TEST(LevelTable, ScalesContract) {
  const parameters p = preset("n15-d14");
  std::vector<level_shape> shapes;
  for (unsigned l = 0; l <= p.max_level(); ++l) shapes.push_back({p.level(l).terminals, p.level(l).mains});
  const auto shifted =
      make_level_table(p.primes(), p.special_count(), p.terminal_count(), shapes,
                       std::vector<level_target>(shapes.size(), {level_use::message, 41, 0}));
  for (unsigned l = 0; l <= p.max_level(); ++l) {
    const double off = std::log2(shifted[l].scale / p.level(l).scale);
    EXPECT_NEAR(off, std::exp2(-static_cast<double>(l)), 1e-9);
  }
}

}  // namespace
}  // namespace halocline::params
