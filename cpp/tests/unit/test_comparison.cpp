// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::comparison_kind;
using circuits::composite_sign;
using circuits::minimax_sign;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* preset = "test-n12-d14";

// Noise of the evaluation: a stage is off by about 2^-25 (see test_polynomial.cpp). Where the sign is certain
// the later stages are flat and do not amplify it; near 0 they are steep, up to 1 / epsilon, but there ReLU
// multiplies by a value below epsilon. Three bits of slack.
constexpr double noise = 0x1p-22;

/// Evenly spread over [-range, range], both ends and (nearly) 0 included.
std::vector<double> grid(std::size_t count, double range) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = range * (2.0 * static_cast<double>(i) / (count - 1.0) - 1);
  return values;
}

ckks::ciphertext encrypt(ckks_rig& rig, const std::vector<double>& values, unsigned level) {
  return rig.encrypt({values.begin(), values.end()}, level);
}

void expect_canonical(const ckks_rig& rig, const ckks::ciphertext& value, unsigned level) {
  EXPECT_EQ(value.level, level);
  EXPECT_NEAR(value.scale / rig.parameters().level(level).scale, 1.0, 1e-9);
}

class Comparison : public testing::TestWithParam<int> {
 protected:
  const composite_sign& chain() { return minimax_sign(GetParam()); }
};

TEST_P(Comparison, SignIsRightWhereItIsCertain) {
  ckks_rig& rig = circuit_rig(preset);
  const std::vector<double> x = grid(rig.slots(), 1.0);
  const unsigned wanted = circuits::comparison_levels(comparison_kind::sign, chain());
  EXPECT_EQ(wanted, static_cast<unsigned>(chain().levels));
  exact_keys keys(rig, circuits::comparison_keys(chain(), wanted));
  const ckks::ciphertext y = circuits::sign(keys.eval, encrypt(rig, x, wanted), chain());
  expect_canonical(rig, y, 0);
  const complex_vector values = rig.decrypt(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LT(std::abs(values[i].real()), 1 + chain().error + noise) << x[i];
    if (std::abs(x[i]) < chain().epsilon) continue;
    EXPECT_NEAR(values[i].real(), x[i] > 0 ? 1.0 : -1.0, chain().error + noise) << x[i];
    EXPECT_NEAR(values[i].real(), circuits::evaluate(chain(), x[i]), noise) << x[i];
  }
}

TEST_P(Comparison, ReluOnARange) {
  ckks_rig& rig = circuit_rig(preset);
  for (const double range : {1.0, 3.0}) {
    const unsigned wanted = circuits::comparison_levels(comparison_kind::relu, chain(), range);
    EXPECT_EQ(wanted, static_cast<unsigned>(chain().levels) + (range == 1.0 ? 1 : 2));
    if (wanted > rig.top()) continue;
    const std::vector<double> x = grid(rig.slots(), range);
    const ckks::ciphertext y = circuits::relu(rig.eval, encrypt(rig, x, wanted), chain(), range);
    expect_canonical(rig, y, 0);
    const complex_vector values = rig.decrypt(y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(values[i].real(), std::max(x[i], 0.0), range * (chain().relu_error + noise)) << x[i];
      const double step = 0.5 + 0.5 * circuits::evaluate(chain(), x[i] / range);
      EXPECT_NEAR(values[i].real(), x[i] * step, range * noise) << x[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Alphas, Comparison, testing::Values(6, 8, 10, 13));

TEST(ComparisonOfTwo, CompareMaximumMinimum) {
  ckks_rig& rig = circuit_rig(preset);
  const composite_sign& chain = minimax_sign(8);
  const std::size_t count = rig.slots();
  std::vector<double> a(count);
  std::vector<double> b(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<double>(i) / (count - 1.0);
    b[i] = 0.5 + 0.45 * std::sin(static_cast<double>(i));
  }
  b[3] = a[3];
  const ckks::ciphertext x = encrypt(rig, a, 9);
  const ckks::ciphertext y = encrypt(rig, b, 8);  // operands of different levels
  const ckks::ciphertext larger = circuits::compare(rig.eval, x, y, chain);
  expect_canonical(rig, larger, 1);
  const complex_vector compared = rig.decrypt(larger);
  const complex_vector most = rig.decrypt(circuits::maximum(rig.eval, x, y, chain));
  const complex_vector least = rig.decrypt(circuits::minimum(rig.eval, x, y, chain));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(most[i].real(), std::max(a[i], b[i]), chain.relu_error + noise);
    EXPECT_NEAR(least[i].real(), std::min(a[i], b[i]), chain.relu_error + noise);
    if (std::abs(a[i] - b[i]) < chain.epsilon) continue;
    EXPECT_NEAR(compared[i].real(), a[i] > b[i] ? 1.0 : 0.0, chain.error / 2 + noise);
  }
  // Equal operands: the sign of noise is the noise times the slopes of the stages at 0, about 2 / epsilon.
  EXPECT_NEAR(compared[3].real(), 0.5, 0x1p-12);
}

TEST(ComparisonKeys, RelinearizationAtTheFirstLevelOnly) {
  for (const double range : {1.0, 0.5, 2.0}) {
    ghost_rig ghost(preset);
    const ckks::ciphertext x = ghost.ghost_input(11, 64);
    (void)circuits::relu(ghost.eval, x, minimax_sign(7), range);
    // The product x * step is far below; its key is a prefix of the one at the top.
    EXPECT_EQ(ghost.keys.requests(), circuits::comparison_keys(minimax_sign(7), 11, range)) << range;
  }
}

TEST(ComparisonCost, IsThatOfTheTableInTheDocs) {  // docs/concepts/circuits.md
  const std::vector<unsigned> levels{6, 7, 8, 9, 11, 12, 13, 14};
  const std::vector<std::size_t> key_switches{7, 9, 12, 15, 15, 17, 20, 23};
  const std::vector<int> alphas = circuits::minimax_sign_alphas();
  ASSERT_EQ(alphas.size(), levels.size());
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    const composite_sign& chain = minimax_sign(alphas[i]);
    EXPECT_EQ(circuits::comparison_levels(comparison_kind::relu, chain), levels[i]);
    EXPECT_EQ(circuits::comparison_key_switches(comparison_kind::relu, chain), key_switches[i]);
  }
}

TEST(ComparisonCost, IsWhatAGhostRunDoes) {
  for (const int alpha : circuits::minimax_sign_alphas()) {
    if (circuits::comparison_levels(comparison_kind::relu, minimax_sign(alpha)) > 14) continue;
    ghost_rig ghost(preset);
    const ckks::ciphertext x = ghost.ghost_input(14, 64);
    ghost.ctx->runtime().start_trace();
    (void)circuits::relu(ghost.eval, x, minimax_sign(alpha));
    EXPECT_EQ(count_key_switches(ghost.ctx->runtime().stop_trace()),
              circuits::comparison_key_switches(comparison_kind::relu, minimax_sign(alpha)));
  }
}

TEST(ComparisonErrors, SayWhatIsMissing) {
  ckks_rig& rig = circuit_rig(preset);
  const ckks::ciphertext x = rig.encrypt({0.5}, 5);
  EXPECT_THAT(
      [&] { (void)circuits::relu(rig.eval, x, minimax_sign(8)); },
      ThrowsMessage<level_exhausted>(AllOf(HasSubstr("relu with precision 2^-8"), HasSubstr("needs 8 levels"),
                                           HasSubstr("level 5"), HasSubstr("3 more"))));
  EXPECT_THAT([&] { (void)circuits::compare(rig.eval, x, x, minimax_sign(8), 3.0); },
              ThrowsMessage<level_exhausted>(
                  AllOf(HasSubstr("compare"), HasSubstr("[-3, 3]"), HasSubstr("8 levels"))));
  EXPECT_THAT([&] { (void)circuits::sign(rig.eval, x, minimax_sign(6), 0.0); },
              ThrowsMessage<invalid_argument>(HasSubstr("range 0")));
}

}  // namespace
}  // namespace halocline::test
