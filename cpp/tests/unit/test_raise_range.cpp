// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/raise_range.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::params {
namespace {

TEST(RaiseRange, WeightIsThatOfTheSecretUnderWhichTheModulusIsRaised) {
  EXPECT_EQ(raise_weight(preset("n16-boot")), 32U);
  EXPECT_EQ(raise_weight(preset("FTa-boot")), 128U);
  literal source = preset_literal("test-n11-boot");
  source.bootstrapping->ephemeral_weight = 0;
  source.bootstrapping->ephemeral_special_primes = 0;
  EXPECT_EQ(raise_weight(parameters::from_literal(source)), 1365U);  // 2N / 3
  source.secret = {secret_kind::sparse, 48};
  EXPECT_EQ(raise_weight(parameters::from_literal(source)), 48U);
}

// One and two terms by hand: |U| > x with probability 1 - 2x; |U + V| > x with probability (1 - x)^2.
TEST(RaiseRange, SmallSumsByHand) {
  EXPECT_NEAR(log2_overflow_probability(0, 0.25, 1), std::log2(0.5), 1e-12);
  EXPECT_NEAR(log2_overflow_probability(1, 0.5, 1), std::log2(0.25), 1e-12);
  EXPECT_NEAR(log2_overflow_probability(1, 0.5, 2), std::log2(1 - 0.75 * 0.75), 1e-12);
  EXPECT_EQ(log2_overflow_probability(1, 1, 1), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(log2_overflow_probability(32, 16.5, 65536), -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(log2_overflow_probability(32, 0, 1), 0, 1e-12);
}

// The largest of n terms of 1/2: (n/2 - K)^n / n! for K just below n/2, where one term of the sum is left.
TEST(RaiseRange, TheLastPieceOfTheDistribution) {
  const double expected = 1 + 33 * std::log2(0.5) - std::lgamma(34.0) / std::log(2.0);
  EXPECT_NEAR(log2_overflow_probability(32, 16, 1), expected, 1e-9);
  EXPECT_NEAR(log2_overflow_probability(32, 16, 131072), expected + 17, 1e-9);
}

// Figures that others publish for the same model, for all coefficients of 2^16 slots: weight 32 and range 16
// below 2^-137; weight 64 and range 28 below 2^-142; weight 192 and range 28 about 2^-22
// (openfheorg/openfhe-development, pull request 1318).
TEST(RaiseRange, AgreesWithPublishedFigures) {
  constexpr std::size_t coefficients = 131072;
  EXPECT_NEAR(log2_overflow_probability(32, 16, coefficients), -137.7, 0.1);
  EXPECT_NEAR(log2_overflow_probability(64, 28, coefficients), -142.5, 0.5);
  EXPECT_NEAR(log2_overflow_probability(192, 28, coefficients), -22, 0.5);
}

TEST(RaiseRange, AgreesWithSamples) {
  std::mt19937_64 engine(11);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  constexpr int samples = 200000;
  for (const unsigned weight : {2U, 32U, 192U}) {
    const double range = 1.5 * std::sqrt((weight + 1) / 12.0);  // about 13 % of the samples
    int beyond = 0;
    for (int i = 0; i < samples; ++i) {
      double sum = 0;
      for (unsigned k = 0; k <= weight; ++k) sum += uniform(engine);
      beyond += std::abs(sum) > range ? 1 : 0;
    }
    const double expected = std::exp2(log2_overflow_probability(weight, range, 1));
    const double share = static_cast<double>(beyond) / samples;
    // Five standard errors, and the rounding of the range to 1/256.
    EXPECT_NEAR(share, expected, 5 * std::sqrt(expected / samples) + 0.002) << weight;
  }
}

// Falls with the range, grows with weight and coefficients, and the normal approximation, which takes over
// above weight 1024, is never below the exact value.
TEST(RaiseRange, IsMonotone) {
  double last = 1;
  for (double range = 0.5; range < 16; range += 0.5) {
    const double now = log2_overflow_probability(32, range, 65536);
    EXPECT_LE(now, last) << range;
    last = now;
  }
  EXPECT_LT(log2_overflow_probability(32, 12, 2), log2_overflow_probability(32, 12, 4));
  EXPECT_LT(log2_overflow_probability(32, 12, 2), log2_overflow_probability(64, 12, 2));
  for (const double range : {40.0, 80.0, 120.0}) {
    EXPECT_GE(log2_overflow_probability(1025, range, 1), log2_overflow_probability(1024, range, 1)) << range;
    EXPECT_LT(log2_overflow_probability(1025, range, 1), log2_overflow_probability(1024, range, 1) + 40)
        << range;
  }
  EXPECT_LT(log2_overflow_probability(43690, 5000, 65536), -1000);  // where erfc underflows
}

TEST(RaiseRange, LeastRange) {
  for (const unsigned weight : {32U, 64U, 128U, 192U}) {
    const double range = overflow_range(weight, -32, 65536);
    EXPECT_LE(log2_overflow_probability(weight, range, 65536), -32);
    EXPECT_GT(log2_overflow_probability(weight, range - 1, 65536), -32);
  }
  EXPECT_EQ(overflow_range(32, -32, 65536), 12);
  EXPECT_EQ(overflow_range(32, -128, 65536), 16);
  EXPECT_EQ(overflow_range(128, -32, 32768), 25);
}

TEST(RaiseRange, BadInputIsRefused) {
  EXPECT_THROW((void)log2_overflow_probability(32, -1, 1), invalid_argument);
  EXPECT_THROW((void)log2_overflow_probability(32, std::nan(""), 1), invalid_argument);
  EXPECT_THROW((void)log2_overflow_probability(32, 1, 0), invalid_argument);
  EXPECT_THROW((void)overflow_range(32, 0, 1), invalid_argument);
}

}  // namespace
}  // namespace halocline::params
