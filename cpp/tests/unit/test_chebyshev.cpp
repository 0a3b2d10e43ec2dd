// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/chebyshev.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/core/error.hpp"

namespace halocline::circuits {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(Chebyshev, InterpolatesAPolynomialExactly) {
  // x^3 = (3 T_1 + T_3) / 4: four points determine it, up to rounding.
  const chebyshev_fit fit = chebyshev_interpolate([](double x) { return x * x * x; }, -1, 1, 3);
  EXPECT_NEAR(fit.series.coefficients[1].real(), 0.75, 1e-15);
  EXPECT_NEAR(fit.series.coefficients[3].real(), 0.25, 1e-15);
  EXPECT_EQ(fit.series.parity(), polynomial_parity::odd);
  EXPECT_LT(fit.max_error, 1e-15);
}

TEST(Chebyshev, ReportsTheErrorItHas) {
  const chebyshev_fit fit = chebyshev_interpolate(sigmoid, -8, 8, 15);
  double worst = 0;
  for (double x = -8; x <= 8; x += 0.001)
    worst = std::max(worst, std::abs(fit.series(x).real() - sigmoid(x)));
  // Measured at 16 points between nodes: the largest of a smooth error curve to within a few percent.
  EXPECT_NEAR(fit.max_error, worst, 0.05 * worst);
  EXPECT_NEAR(std::abs(fit.series(fit.worst_x).real() - sigmoid(fit.worst_x)), fit.max_error, 1e-15);
}

TEST(Chebyshev, ParityOfTheFunctionIsKept) {
  EXPECT_EQ(chebyshev_interpolate([](double x) { return std::cos(3 * x); }, -2, 2, 20).series.parity(),
            polynomial_parity::even);
  EXPECT_EQ(chebyshev_interpolate([](double x) { return std::sin(3 * x); }, -2, 2, 21).series.parity(),
            polynomial_parity::odd);
  EXPECT_EQ(chebyshev_interpolate([](double x) { return std::exp(x); }, -2, 2, 9).series.parity(),
            polynomial_parity::none);
}

TEST(Chebyshev, FitTakesTheLeastDegreeThatDoes) {
  const chebyshev_fit fit = chebyshev_fit_to([](double x) { return std::exp(x); }, -1, 1, 1e-6);
  EXPECT_EQ(fit.series.degree(),
            7u);  // the error of degree n is about 2^-n / (n + 1)!: 2e-7 for 7, 5e-3 for 3
  EXPECT_LE(fit.max_error, 1e-6);
}

TEST(Chebyshev, RefusesWhatCannotBeDone) {
  EXPECT_THAT([] { (void)chebyshev_interpolate(sigmoid, 1, 1, 3); },
              ThrowsMessage<invalid_argument>(HasSubstr("[1, 1]")));
  EXPECT_THAT([] { (void)chebyshev_interpolate(sigmoid, 0, 1, 0); },
              ThrowsMessage<invalid_argument>(HasSubstr("degree 0")));
  EXPECT_THAT([] { (void)chebyshev_interpolate([](double x) { return std::sqrt(x); }, -1, 1, 3); },
              ThrowsMessage<invalid_argument>(HasSubstr("finite")));
  EXPECT_THAT([] { (void)chebyshev_fit_to([](double x) { return std::abs(x); }, -1, 1, 1e-9, 31); },
              ThrowsMessage<invalid_argument>(HasSubstr("degree 31")));
  EXPECT_THAT([] { (void)chebyshev_series({}, -1, 1); },
              ThrowsMessage<invalid_argument>(HasSubstr("no coefficients")));
}

}  // namespace
}  // namespace halocline::circuits
