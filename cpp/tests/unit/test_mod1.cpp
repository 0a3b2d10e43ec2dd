// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/mod1.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::mod1;
using circuits::mod1_options;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// One prime of 55 bits for each level: N = 2^10, insecure.
ckks_rig& rig() {
  static ckks_rig instance = [] {
    params::literal literal;
    literal.name = "n10-55bits";
    literal.log_n = 10;
    literal.word_bits = 64;
    literal.main_bits = literal.terminal_bits = 0;
    literal.scale_bits = 55;
    literal.base_bits = 60;
    literal.depth = 14;
    literal.special_primes = 3;
    literal.special_bits = 57;
    literal.digit_size = 3;
    literal.allow_insecure = true;
    return ckks_rig(params::parameters::from_literal(literal));
  }();
  instance.eval.set_mode(ckks::maintenance::automatic);
  return instance;
}

/// Whole numbers up to the range with fractions up to `fraction`, and these fractions.
struct sample {
  sample(const mod1_options& options, double divisor) {
    std::mt19937_64 engine(11);
    const auto whole = static_cast<int>(options.range - 0.5);
    std::uniform_int_distribution<int> integers(-whole, whole);
    std::uniform_real_distribution<double> fractions(-options.fraction, options.fraction);
    for (std::uint32_t i = 0; i < rig().slots(); ++i) {
      const double e = fractions(engine);
      expected.emplace_back(e);
      input.emplace_back((integers(engine) + e) / divisor);
    }
  }
  complex_vector input;
  complex_vector expected;
};

TEST(Mod1, ChoosesFewestLevelsOrKeySwitches) {
  mod1_options options;
  options.range = 12;
  const mod1 shallow(options);
  EXPECT_EQ(shallow.levels(), 7u);
  EXPECT_EQ(shallow.double_angles(), 0u);
  options.range = 14;
  EXPECT_EQ(mod1(options).levels(), 8u);
  // 8 levels are also what interpolation around the integers only takes (Han and Ki: degree 31 and three
  // double angles), which needs the odd powers as well.
  options.max_levels = 8;
  const mod1 cheap(options);
  EXPECT_LE(cheap.levels(), 8u);
  EXPECT_LE(cheap.max_error(), options.tolerance);
  EXPECT_LE(cheap.key_switches(), 13u);
  options.range = 12;
  EXPECT_LT(mod1(options).key_switches(), shallow.key_switches());
}

TEST(Mod1, InTheClearItIsTheSineOfTheFraction) {
  const mod1 plain;
  for (const double e : {-0x1p-8, -0.001, 0.0, 0x1p-9}) {
    for (const int integer : {-13, -1, 0, 5, 13}) {
      const double sine = std::sin(2 * std::numbers::pi * e) / (2 * std::numbers::pi);
      EXPECT_NEAR(plain(integer + e), sine, 0x1p-41);
      EXPECT_LE(std::abs(sine - e), plain.linearity_error(0x1p-8) * 1.000001);
    }
  }
}

// T_2 = 2 u^2 - 1 errs by 2^-47 (rescale: 2^8 / 2^55 for N = 2^10), and with w = 2 pi divisor the result has
// the slope w^2 / 8 pi = 2^8.3 in T_2 where u is small, as for a quarter of these inputs. Three and a half
// times 2^-38.7 in the worst of 512 slots, and half a bit.
constexpr double worst_bits = 36.5;

class Mod1Evaluate : public testing::TestWithParam<unsigned> {};

TEST_P(Mod1Evaluate, EqualsTheFunction) {
  SCOPED_TRACE(rig().describe());
  mod1_options options;
  options.range = 14;
  options.double_angles = GetParam();
  const mod1 function(options);
  const sample x(options, function.divisor());
  exact_keys keys(rig(), function.key_requests(rig().top()));
  const ckks::ciphertext y = function.evaluate(keys.eval, rig().encrypt(x.input));
  EXPECT_EQ(y.level, rig().top() - function.levels());
  EXPECT_NEAR(y.scale / rig().parameters().level(y.level).scale, 1.0, 1e-9);
  complex_vector expected;
  for (const auto& v : x.input) expected.emplace_back(function(v.real() * function.divisor()));
  EXPECT_GT(rig().precision(y, expected).worst_bits, worst_bits);
}

INSTANTIATE_TEST_SUITE_P(DoubleAngles, Mod1Evaluate, testing::Values(1u, 2u, 3u, 4u));

// The factor is part of the constants: errors grow with it, not more.
TEST(Mod1, Factor) {
  const mod1 function;
  const sample x(function.options(), function.divisor());
  const ckks::ciphertext y = function.evaluate(rig().eval, rig().encrypt(x.input), 256.0);
  complex_vector expected;
  for (const auto& v : x.input) expected.emplace_back(256 * function(v.real() * function.divisor()));
  EXPECT_GT(rig().precision(y, expected).worst_bits, worst_bits - 8);
}

// Real and imaginary parts, one by one and together: the same integers, and both functions.
TEST(Mod1, ComplexNumbers) {
  const mod1 function;
  const sample x(function.options(), function.divisor());
  complex_vector mirrored = x.input, expected;
  std::reverse(mirrored.begin(), mirrored.end());
  std::vector<ckks::ciphertext> parts;
  for (const bool swaps : {false, true}) {
    parts.push_back(rig().encrypt(swaps ? mirrored : x.input));
    parts.push_back(rig().encrypt(swaps ? x.input : mirrored));
  }
  const std::vector<ckks::ciphertext> found =
      function.evaluate_complex(rig().eval, ckks::pointers(parts), 256.0);
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t i = 0; i < x.input.size(); ++i) {
    const auto of = [&](const complex_vector& v) { return 256 * function(v[i].real() * function.divisor()); };
    expected.emplace_back(of(x.input), of(mirrored));
  }
  EXPECT_GT(rig().precision(found[0], expected).worst_bits, worst_bits - 8.5);
  const std::vector<ckks::ciphertext> together =
      function.evaluate_complex(rig().eval, ckks::pointers(parts), 256.0, 4);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(rig().decrypt(together[k]), rig().decrypt(found[k]));
  parts.pop_back();
  EXPECT_THAT([&] { (void)function.evaluate_complex(rig().eval, ckks::pointers(parts)); },
              ThrowsMessage<invalid_argument>(HasSubstr("3 parts of complex numbers")));
}

// |e| up to 1/16: the sine alone is off by 2^-9.2, with the arcsine of degree 7 by 2^-26.
TEST(Mod1, ArcsineReachesLargeFractions) {
  mod1_options options;
  options.fraction = 1.0 / 16;
  const mod1 sine(options);
  EXPECT_NEAR(std::log2(sine.linearity_error(options.fraction)), -9.4, 0.3);
  options.arcsine_degree = 7;
  options.tolerance = 0x1p-24;
  const mod1 corrected(options);
  EXPECT_EQ(corrected.levels(), corrected.double_angles() + std::bit_width(corrected.degree()) + 3);
  EXPECT_EQ(corrected.linearity_error(options.fraction), 0.0);
  const sample x(options, corrected.divisor());
  const ckks::ciphertext y = corrected.evaluate(rig().eval, rig().encrypt(x.input), 16.0);
  complex_vector expected = x.expected;
  for (auto& each : expected) each *= 16;
  EXPECT_GT(rig().precision(y, expected).worst_bits, -std::log2(corrected.max_error()) - 4.5);
}

TEST(Mod1, BadInput) {
  const auto make = [](const mod1_options& options) { return [=] { (void)mod1(options); }; };
  mod1_options options;
  options.range = 0.5;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("range 0.5")));
  options = {};
  options.fraction = 0.3;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("fraction 0.3")));
  options = {};
  options.arcsine_degree = 4;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("odd degree")));
  options = {};
  options.range = 100;
  options.double_angles = 0;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("another number of double angles")));
  const mod1 function;
  EXPECT_THAT(
      [&] {
        (void)function.evaluate(rig().eval, rig().encrypt({0.0, 0.0}, 5));
      },
      ThrowsMessage<level_exhausted>(HasSubstr("3 more are needed")));
}

}  // namespace
}  // namespace halocline::test
