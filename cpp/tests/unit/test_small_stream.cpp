// SPDX-License-Identifier: Apache-2.0
#include "halocline/arith/small_stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "halocline/ring/sampler.hpp"

namespace halocline::arith {
namespace {

// Statistics below are of a fixed stream, so they pass or fail for good; bounds are five standard deviations.
const std::array<std::uint8_t, 32> seed{5, 4, 3, 2, 1};
const chacha_key key = make_chacha_key(seed.data());

TEST(SmallStream, TakesTheFirstPairThatIsNotThree) {
  EXPECT_EQ(ternary_accepted(0xffffffff), 0U);
  for (int place = 0; place < 16; ++place) {
    for (std::uint32_t pair = 0; pair < 3; ++pair) {
      const std::uint32_t below = (std::uint32_t{1} << (2 * place)) - 1;  // all 3
      for (const std::uint32_t above : {0U, 0xffffffffU, 0x9e3779b9U}) {
        const std::uint64_t high = place == 15 ? 0 : std::uint64_t{above} << (2 * place + 2);
        const auto word = static_cast<std::uint32_t>(high) | pair << (2 * place) | below;
        EXPECT_EQ(ternary_value(word, ternary_accepted(word)), static_cast<std::int64_t>(pair) - 1);
      }
    }
  }
}

TEST(SmallStream, LaterAttemptsReadTheirOwnKeyStream) {
  for (std::size_t i = 0; i < 40; ++i) {
    const std::uint32_t word =
        chacha20(key, static_cast<std::uint32_t>(i / 16), {9, ternary_domain, 1}).words[i % 16];
    EXPECT_EQ(ternary_coefficient(key, 9, i, 1), ternary_value(word, ternary_accepted(word)));
  }
}

TEST(SmallStream, TernaryIsUniformAndStreamsDiffer) {
  std::map<std::int64_t, int> counts;
  int same = 0;
  for (std::size_t i = 0; i < 30000; ++i) {
    const std::int64_t value = ternary_coefficient(key, 0, i);
    ++counts[value];
    same += value == ternary_coefficient(key, 1, i) ? 1 : 0;
  }
  ASSERT_EQ(counts.size(), 3U);
  for (const std::int64_t value : {-1, 0, 1}) {
    EXPECT_NEAR(counts[value], 10000, 5 * std::sqrt(20000.0 / 3)) << value;
  }
  EXPECT_NEAR(same, 10000, 5 * std::sqrt(20000.0 / 3));
}

class SmallGaussian : public ::testing::TestWithParam<double> {};

TEST_P(SmallGaussian, HasTheExactProbabilities) {
  const double stddev = GetParam();
  const std::vector<std::uint64_t> table = ring::gaussian_table(stddev);
  std::map<std::int64_t, double> observed;
  for (std::size_t i = 0; i < 40000; ++i) {
    observed[gaussian_coefficient(key, 2, i, table.data(), table.size())] += 1.0;
  }
  double total = 0.0;
  for (int x = -200; x <= 200; ++x) total += std::exp(-x * x / (2 * stddev * stddev));
  double chi_square = 0.0;
  int bins = 0;
  for (int x = -200; x <= 200; ++x) {
    const double expected = 40000 * std::exp(-x * x / (2 * stddev * stddev)) / total;
    if (expected < 10) continue;
    chi_square += std::pow(observed[x] - expected, 2) / expected;
    ++bins;
  }
  EXPECT_LT(chi_square, bins + 5 * std::sqrt(2.0 * bins));
  EXPECT_GT(chi_square, bins - 5 * std::sqrt(2.0 * bins));
}

INSTANTIATE_TEST_SUITE_P(small_stream, SmallGaussian, ::testing::Values(0.6, 1.0, 3.2, 10.0, 16.0));

TEST(SmallStream, EndsOfTheGaussianTableCount) {
  const std::vector<std::uint64_t> table{10, 20, 30};
  const auto value = [&](std::uint64_t word) { return gaussian_value(word, table.data(), table.size()); };
  EXPECT_EQ(value(9), 0);
  EXPECT_EQ(value(10), 1);
  EXPECT_EQ(value(29), 2);
  EXPECT_EQ(value(~std::uint64_t{0} >> 1), 3);
  EXPECT_EQ(value(~std::uint64_t{0}), -3);
}

}  // namespace
}  // namespace halocline::arith
