// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/minimax_sign.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"

namespace halocline::circuits {
namespace {

constexpr int samples = 20000;

// Points from `low` to `high`, geometrically spaced: errors oscillate fastest near the low end.
std::vector<double> grid(double low, double high) {
  std::vector<double> points;
  for (int i = 0; i <= samples; ++i) {
    points.push_back(low * std::pow(high / low, static_cast<double>(i) / samples));
  }
  points.back() = high;
  return points;
}

class MinimaxSign : public testing::TestWithParam<int> {};

TEST_P(MinimaxSign, ChainIsWithinItsErrorOfSign) {
  const composite_sign& chain = minimax_sign(GetParam());
  EXPECT_EQ(chain.alpha, GetParam());
  EXPECT_LE(chain.error, std::exp2(-chain.alpha));
  for (const double x : grid(chain.epsilon, 1.0)) {
    ASSERT_LE(std::abs(evaluate(chain, x) - 1.0), chain.error) << "x = " << x;
    ASSERT_EQ(evaluate(chain, -x), -evaluate(chain, x));
  }
}

TEST_P(MinimaxSign, ReluIsWithinItsError) {
  const composite_sign& chain = minimax_sign(GetParam());
  EXPECT_LE(chain.relu_error, 1.08 * std::exp2(-chain.alpha));
  EXPECT_EQ(evaluate(chain, 0.0), 0.0);
  for (const double x : grid(chain.epsilon / 1024.0, 1.0)) {
    ASSERT_LE(std::abs(evaluate(chain, x)), 1.0 + chain.error);
    ASSERT_LE(std::abs(x * (1.0 + evaluate(chain, x)) / 2.0 - x), chain.relu_error) << "x = " << x;
    ASSERT_LE(std::abs(-x * (1.0 + evaluate(chain, -x)) / 2.0), chain.relu_error) << "x = " << -x;
  }
}

TEST_P(MinimaxSign, StagesKeepTheirRangesAndFitTogether) {
  const composite_sign& chain = minimax_sign(GetParam());
  int levels = 0;
  EXPECT_EQ(chain.stages.front().domain, 1.0);
  EXPECT_LE(chain.stages.front().input_low, chain.epsilon);
  EXPECT_EQ(chain.stages.front().input_high, 1.0 + chain.margin);
  for (const minimax_stage& stage : chain.stages) {
    levels += static_cast<int>(std::ceil(std::log2(stage.degree() + 1)));
    EXPECT_GT(stage.input_low, 0.0);
    constexpr double rounding = 1e-14;
    for (const double u : grid(stage.input_low, stage.input_high)) {
      ASSERT_GE(evaluate(stage, u), stage.output_low - rounding);
      ASSERT_LE(evaluate(stage, u), stage.output_high + rounding);
    }
  }
  EXPECT_EQ(chain.levels, levels);
  for (std::size_t i = 1; i < chain.stages.size(); ++i) {
    constexpr double rounding = 1e-14;
    EXPECT_LE(chain.stages[i].input_low, chain.stages[i - 1].output_low - chain.margin + rounding);
    EXPECT_GE(chain.stages[i].input_high, chain.stages[i - 1].output_high + chain.margin - rounding);
  }
}

TEST_P(MinimaxSign, ClenshawEqualsTheDefinition) {
  for (const minimax_stage& stage : minimax_sign(GetParam()).stages) {
    for (const double u : {-1.0, -0.7, -1e-3, 0.0, 0.2, 0.99, 1.0}) {
      double expected = 0.0;
      for (std::size_t k = 0; k < stage.chebyshev_odd.size(); ++k) {
        expected += stage.chebyshev_odd[k] * std::cos(static_cast<double>(2 * k + 1) * std::acos(u));
      }
      EXPECT_NEAR(evaluate(stage, u), expected, 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSets, MinimaxSign, testing::ValuesIn(minimax_sign_alphas()));

TEST(MinimaxSignLookup, ListsItsSetsAndRefusesOthers) {
  EXPECT_EQ(minimax_sign_alphas(), (std::vector<int>{6, 7, 8, 9, 10, 11, 12, 13}));
  for (const int alpha : {-1, 0, 5, 14}) {
    try {
      (void)minimax_sign(alpha);
      FAIL() << "alpha = " << alpha << " was accepted";
    } catch (const invalid_argument& problem) {
      EXPECT_NE(std::string(problem.what()).find("6, 7, 8, 9, 10, 11, 12, 13"), std::string::npos);
    }
  }
}

TEST(MinimaxSignLookup, DegreesForReluAtThirteenBitsAreThePublishedOnes) {
  std::vector<int> degrees;
  for (const minimax_stage& stage : minimax_sign(13).stages) {
    degrees.push_back(stage.degree());
  }
  EXPECT_EQ(degrees, (std::vector<int>{15, 15, 27}));
}

}  // namespace
}  // namespace halocline::circuits
