// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/precision.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "halocline/core/error.hpp"

namespace halocline::ckks {
namespace {

using complex_vector = std::vector<std::complex<double>>;

TEST(MeasurePrecision, TakesTheLargerPartOfEachSlot) {
  const complex_vector expected{{1, 1}, {0, 0}, {-2, 0.5}, {0, 0}};
  const complex_vector computed{{1.25, 1}, {0, 0}, {-2.125, 0.25}, {0, 0.5}};
  const precision_stats result = measure_precision(computed, expected);
  EXPECT_DOUBLE_EQ(result.mean_error, 0.25);
  EXPECT_DOUBLE_EQ(result.max_error, 0.5);
  EXPECT_DOUBLE_EQ(result.mean_bits, 2.0);
  EXPECT_DOUBLE_EQ(result.worst_bits, 1.0);
  EXPECT_EQ(result.worst_slot, 3U);
}

TEST(MeasurePrecision, IsInfiniteWithoutError) {
  const complex_vector values{{1, 2}};
  const precision_stats result = measure_precision(values, values);
  EXPECT_EQ(result.mean_bits, std::numeric_limits<double>::infinity());
  EXPECT_EQ(result.worst_bits, std::numeric_limits<double>::infinity());
}

TEST(MeasurePrecision, CountsNotANumberAsTheWorst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::complex<double> broken : {std::complex<double>{nan, 0}, std::complex<double>{0, nan}}) {
    const complex_vector computed{{0, 0}, broken, {5, 0}};
    const precision_stats result = measure_precision(computed, complex_vector(3));
    EXPECT_EQ(result.worst_slot, 1U);
    EXPECT_TRUE(std::isnan(result.max_error));
    EXPECT_TRUE(std::isnan(result.mean_error));
  }
}

TEST(MeasurePrecision, RefusesVectorsThatDoNotMatch) {
  EXPECT_THROW((void)measure_precision(complex_vector(2), complex_vector(3)), invalid_argument);
  EXPECT_THROW((void)measure_precision(complex_vector(), complex_vector()), invalid_argument);
}

}  // namespace
}  // namespace halocline::ckks
