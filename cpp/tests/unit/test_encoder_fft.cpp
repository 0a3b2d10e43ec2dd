// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <tuple>

#include "support/slot_transform.hpp"

namespace halocline::ckks {
namespace {

using complex_vector = std::vector<std::complex<double>>;

/// sum_j a_j zeta^(j g^k) for every slot k, term by term.
complex_vector naive_slots(const std::vector<double>& coefficients, unsigned generator) {
  const std::size_t order = 2 * coefficients.size();
  std::vector<std::complex<long double>> roots(order);
  for (std::size_t i = 0; i < order; ++i) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(i) / static_cast<long double>(order);
    roots[i] = {std::cos(angle), std::sin(angle)};
  }
  complex_vector slots;
  std::size_t exponent = 1;
  for (std::size_t k = 0; k < coefficients.size() / 2; ++k) {
    std::complex<long double> sum = 0;
    for (std::size_t j = 0; j < coefficients.size(); ++j) {
      sum += static_cast<long double>(coefficients[j]) * roots[j * exponent % order];
    }
    slots.emplace_back(sum);
    exponent = exponent * generator % order;
  }
  return slots;
}

class SlotTransformOf : public ::testing::TestWithParam<std::tuple<std::uint32_t, unsigned>> {
 protected:
  std::uint32_t n = std::get<0>(GetParam());
  unsigned generator = std::get<1>(GetParam());
  test::slot_transform transform{n, generator};

  [[nodiscard]] std::vector<double> random_coefficients() const {
    std::mt19937_64 random(n);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> result(2 * std::size_t{n});
    for (double& value : result) value = uniform(random);
    return result;
  }
};

TEST_P(SlotTransformOf, EqualsTheNaiveEmbedding) {
  const std::vector<double> coefficients = random_coefficients();
  std::vector<double> work = coefficients;
  complex_vector slots(n);
  transform.to_slots(work, slots);
  const complex_vector expected = naive_slots(coefficients, generator);
  for (std::uint32_t k = 0; k < n; ++k) ASSERT_LT(std::abs(slots[k] - expected[k]), 1e-15 * (8 + n)) << k;
}

TEST_P(SlotTransformOf, InvertsItselfUpToTheFactorN) {
  const std::vector<double> coefficients = random_coefficients();
  std::vector<double> work = coefficients;
  complex_vector slots(n);
  transform.to_slots(work, slots);
  transform.to_coefficients(slots, work);
  for (std::size_t j = 0; j < work.size(); ++j) ASSERT_NEAR(work[j] / n, coefficients[j], 4e-15) << j;
}

TEST_P(SlotTransformOf, PadsMissingValuesWithZeros) {
  const complex_vector few{{0.5, -0.25}};
  complex_vector all(n);
  all[0] = few[0];
  std::vector<double> padded(2 * std::size_t{n}, 9.0);
  std::vector<double> full(2 * std::size_t{n});
  transform.to_coefficients(few, padded);
  transform.to_coefficients(all, full);
  EXPECT_EQ(padded, full);
}

INSTANTIATE_TEST_SUITE_P(encoder_fft, SlotTransformOf,
                         ::testing::Combine(::testing::Values(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
                                            ::testing::Values(3, 5)));

TEST(SlotTransform, IsAccurateAtFullSize) {
  test::slot_transform transform(32768, 5);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  complex_vector values(32768);
  for (auto& value : values) value = {uniform(random), uniform(random)};
  std::vector<double> coefficients(65536);
  complex_vector back(32768);
  transform.to_coefficients(values, coefficients);
  transform.to_slots(coefficients, back);
  double worst = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k)
    worst = std::max(worst, std::abs(back[k] / 32768.0 - values[k]));
  EXPECT_LT(worst, 0x1p-48);
}

}  // namespace
}  // namespace halocline::ckks
