// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/polynomial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/circuits/chebyshev.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::polynomial;
using circuits::polynomial_basis;
using circuits::polynomial_parity;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Bits of the worst slot that a polynomial of this degree must keep. A rescale is off by 2^-29 for the
/// largest slot at N = 2^11 and a 40-bit scale (see test_linear_transform.cpp), and so is the input. p
/// amplifies an error of x by its derivative, about the degree (its square only within 1 / degree^2 of the
/// ends, which few slots are), and adds the errors of log2 degree products. The coefficients sum to 2 at
/// most.
double worst_bits(unsigned degree) { return 27.0 - std::log2(degree + 1); }

polynomial make_polynomial(polynomial_basis basis, std::vector<double> coefficients, double lower = -1.0,
                           double upper = 1.0) {
  return {basis, {coefficients.begin(), coefficients.end()}, lower, upper};
}

/// Alternating coefficients whose magnitudes sum to 2, of every index or one parity.
polynomial spread_polynomial(polynomial_basis basis, unsigned degree, polynomial_parity parity) {
  std::vector<double> coefficients(degree + 1);
  double total = 0;
  for (unsigned k = 0; k <= degree; ++k) {
    if (parity == polynomial_parity::odd && k % 2 == 0) continue;
    if (parity == polynomial_parity::even && k % 2 == 1) continue;
    coefficients[k] = (k % 3 == 0 ? -1.0 : 1.0) / (1 + k % 5);
    total += std::abs(coefficients[k]);
  }
  for (double& c : coefficients) c *= 2 / total;
  return make_polynomial(basis, coefficients);
}

/// Real values, evenly spread over the interval, both ends included.
complex_vector spread_values(std::uint32_t count, double lower = -1, double upper = 1) {
  complex_vector values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = lower + (upper - lower) * i / (count - 1);
  return values;
}

complex_vector map_values(const polynomial& p, const complex_vector& x) {
  complex_vector y(x.size());
  std::transform(x.begin(), x.end(), y.begin(), p);
  return y;
}

void check(const std::string& preset, const polynomial& p, unsigned level) {
  ckks_rig& rig = circuit_rig(preset);
  SCOPED_TRACE(rig.describe() + " degree " + std::to_string(p.degree()) + " level " + std::to_string(level));
  exact_keys keys(rig, circuits::key_requests(p, level));
  const complex_vector x = spread_values(rig.slots(), p.lower, p.upper);
  const ckks::ciphertext y = circuits::evaluate(keys.eval, p, rig.encrypt(x, level));
  EXPECT_EQ(y.level, level - circuits::levels(p));
  EXPECT_NEAR(y.scale / rig.parameters().level(y.level).scale, 1.0, 1e-9);
  EXPECT_GT(rig.precision(y, map_values(p, x)).worst_bits, worst_bits(p.degree()));
}

class Polynomial : public testing::TestWithParam<polynomial_basis> {};

TEST_P(Polynomial, MatchesItsValues) {
  for (const unsigned degree : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 15u, 16u, 27u, 31u, 63u}) {
    check("test-n11-d8", spread_polynomial(GetParam(), degree, polynomial_parity::none), 8);
  }
}

TEST_P(Polynomial, OddAndEven) {
  for (const unsigned degree : {3u, 7u, 15u, 27u}) {
    check("test-n11-d8", spread_polynomial(GetParam(), degree, polynomial_parity::odd), 6);
    check("test-n11-d8", spread_polynomial(GetParam(), degree - 1, polynomial_parity::even), 5);
  }
}

TEST_P(Polynomial, UsesTheLastLevel) {
  check("test-n11-d8", spread_polynomial(GetParam(), 15, polynomial_parity::none), 4);
  check("test-n10-d3-w64", spread_polynomial(GetParam(), 7, polynomial_parity::none), 3);
}

TEST_P(Polynomial, WideWords) {
  for (const unsigned degree : {1u, 2u, 3u, 6u, 7u}) {
    check("test-n10-d3-w64", spread_polynomial(GetParam(), degree, polynomial_parity::none), 3);
  }
}

TEST_P(Polynomial, AsksForExactlyTheKeyItStates) {
  for (const unsigned degree : {1u, 2u, 9u, 31u}) {
    ghost_rig ghost("test-n11-d8");
    const polynomial p = spread_polynomial(GetParam(), degree, polynomial_parity::none);
    const ckks::ciphertext y = circuits::evaluate(ghost.eval, p, ghost.ghost_input(7, 64));
    EXPECT_EQ(ghost.keys.requests(), circuits::key_requests(p, 7));
    EXPECT_EQ(y.level, 7 - circuits::levels(p));
  }
}

TEST_P(Polynomial, DivisionGivesBackTheDividend) {
  for (const unsigned degree : {1u, 2u, 5u, 8u, 15u}) {
    const polynomial p = spread_polynomial(GetParam(), degree, polynomial_parity::none);
    for (unsigned n = (degree + 1) / 2; n <= degree; ++n) {
      const auto [quotient, remainder] = circuits::divide(p, n);
      EXPECT_LT(remainder.degree(), n);
      polynomial divisor = make_polynomial(GetParam(), std::vector<double>(n + 1));
      divisor.coefficients[n] = 1.0;
      for (const double x : {-0.9, -0.3, 0.1, 0.77}) {
        EXPECT_NEAR(std::abs(quotient(x) * divisor(x) + remainder(x) - p(x)), 0, 1e-14)
            << degree << " by " << n;
      }
    }
  }
  EXPECT_THAT([] { (void)circuits::divide(spread_polynomial(polynomial_basis::chebyshev, 9, {}), 4); },
              ThrowsMessage<invalid_argument>(HasSubstr("at least half")));
}

INSTANTIATE_TEST_SUITE_P(Bases, Polynomial,
                         testing::Values(polynomial_basis::monomial, polynomial_basis::chebyshev),
                         [](const auto& info) {
                           return info.param == polynomial_basis::monomial ? "monomial" : "chebyshev";
                         });

TEST(PolynomialCost, FewestLevelsAndSquareRootProducts) {
  const auto cost_of = [](unsigned degree, polynomial_parity parity) {
    return circuits::cost(spread_polynomial(polynomial_basis::chebyshev, degree, parity));
  };
  for (unsigned degree = 1; degree <= 63; ++degree) {
    EXPECT_EQ(cost_of(degree, polynomial_parity::none).levels, std::ceil(std::log2(degree + 1))) << degree;
  }
  // Degree 63: T_2, T_3 and the powers of two make 6, and there is one for each node with a product. The
  // table in docs/concepts/circuits.md.
  EXPECT_EQ(cost_of(3, polynomial_parity::none).key_switches, 2u);
  EXPECT_EQ(cost_of(7, polynomial_parity::none).key_switches, 4u);
  EXPECT_EQ(cost_of(15, polynomial_parity::none).key_switches, 7u);
  EXPECT_EQ(cost_of(31, polynomial_parity::none).key_switches, 10u);
  EXPECT_EQ(cost_of(63, polynomial_parity::none).key_switches, 15u);
  for (const unsigned degree : {7u, 15u, 27u, 31u, 63u}) {
    const circuits::polynomial_cost odd = cost_of(degree, polynomial_parity::odd);
    const circuits::polynomial_cost all = cost_of(degree, polynomial_parity::none);
    EXPECT_LE(odd.key_switches, all.key_switches) << degree;
    EXPECT_LE(odd.constant_products, all.constant_products) << degree;
  }
  EXPECT_LT(cost_of(63, polynomial_parity::odd).key_switches,
            cost_of(63, polynomial_parity::none).key_switches);
  EXPECT_EQ(cost_of(1, polynomial_parity::none).key_switches, 0u);
  EXPECT_EQ(cost_of(2, polynomial_parity::none).key_switches, 1u);
}

TEST(PolynomialCost, IsWhatAGhostRunDoes) {
  for (const unsigned degree : {2u, 7u, 13u, 31u, 40u}) {
    ghost_rig ghost("test-n11-d8");
    const polynomial p = spread_polynomial(polynomial_basis::chebyshev, degree, polynomial_parity::none);
    const ckks::ciphertext x = ghost.ghost_input(8, 64);
    ghost.ctx->runtime().start_trace();
    (void)circuits::evaluate(ghost.eval, p, x);
    EXPECT_EQ(count_key_switches(ghost.ctx->runtime().stop_trace()), circuits::cost(p).key_switches)
        << degree;
  }
}

// Powers whose difference comes down by a division: 13 = 8 + 5 from 3, where levels have other primes.
TEST(PolynomialCost, HighDegreesTakeTheirLevelsFromEveryLevel) {
  ghost_rig ghost("n15-d14");
  for (const unsigned degree : {15u, 31u, 200u, 255u}) {
    const polynomial p = spread_polynomial(polynomial_basis::chebyshev, degree, polynomial_parity::none);
    for (unsigned level = 8; level <= 14; ++level) {
      const ckks::ciphertext x = ghost.ghost_input(level, 64);
      EXPECT_EQ(circuits::evaluate(ghost.eval, p, x).level, level - circuits::levels(p)) << degree;
    }
  }
}

TEST(PolynomialInterval, IsMappedToTheUnitInterval) {
  // [-1/2, 1/2] has the integer slope 2 and [0, 1] as well: no level; [-3, 5] takes one.
  const polynomial narrow = make_polynomial(polynomial_basis::chebyshev, {0.1, 0.5, -0.25, 0.125}, -0.5, 0.5);
  const polynomial shifted = make_polynomial(polynomial_basis::chebyshev, {0.1, 0.5, -0.25, 0.125}, 0, 1);
  const polynomial wide = make_polynomial(polynomial_basis::chebyshev, {0.1, 0.5, -0.25, 0.125}, -3, 5);
  EXPECT_EQ(circuits::levels(narrow), 2u);
  EXPECT_EQ(circuits::levels(shifted), 2u);
  EXPECT_EQ(circuits::levels(wide), 3u);
  EXPECT_EQ(circuits::cost(wide).levels, 3u);
  for (const polynomial& p : {narrow, shifted, wide}) {
    check("test-n11-d8", p, 5);
    check("test-n10-d3-w64", p, 3);
  }
}

TEST(PolynomialInterval, FittedFunction) {
  const circuits::chebyshev_fit fit =
      circuits::chebyshev_interpolate([](double x) { return 1 / (1 + std::exp(-x)); }, -8, 8, 31);
  EXPECT_LT(fit.max_error, 1e-5);
  check("test-n11-d8", fit.series, 7);
}

TEST(PolynomialScale, AnInputWithAnotherScaleIsAdjusted) {
  ckks_rig& rig = circuit_rig("test-n11-d8");
  const polynomial p = spread_polynomial(polynomial_basis::chebyshev, 7, polynomial_parity::none);
  const complex_vector x = spread_values(rig.slots());
  const double scale = rig.parameters().level(6).scale * 1.37;
  const ckks::ciphertext input = rig.encryptor.encrypt(rig.encoder.encode(x, 6, scale), rig.secret);
  const ckks::ciphertext y = circuits::evaluate(rig.eval, p, input);
  EXPECT_EQ(y.level, 2u);
  EXPECT_NEAR(y.scale / rig.parameters().level(2).scale, 1.0, 1e-9);
  EXPECT_GT(rig.precision(y, map_values(p, x)).worst_bits, worst_bits(p.degree()));
}

TEST(PolynomialBatch, SharesThePowers) {
  ckks_rig& rig = circuit_rig("test-n11-d8");
  const std::vector<polynomial> batch{
      spread_polynomial(polynomial_basis::chebyshev, 7, polynomial_parity::odd),
      spread_polynomial(polynomial_basis::chebyshev, 12, polynomial_parity::none),
      spread_polynomial(polynomial_basis::chebyshev, 3, polynomial_parity::none)};
  std::size_t separate = 0;
  for (const polynomial& p : batch) separate += circuits::cost(p).key_switches;
  EXPECT_LT(circuits::cost(batch).key_switches, separate);
  const complex_vector x = spread_values(rig.slots());
  const ckks::ciphertext input = rig.encrypt(x, 8);
  const std::vector<ckks::ciphertext> own = circuits::evaluate(rig.eval, batch, input);
  const std::vector<ckks::ciphertext> common = circuits::evaluate(rig.eval, batch, input, {2u});
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(own[i].level, 8 - circuits::levels(batch[i]));
    EXPECT_EQ(common[i].level, 2u);
    EXPECT_NEAR(common[i].scale / rig.parameters().level(2).scale, 1.0, 1e-9);
    EXPECT_GT(rig.precision(own[i], map_values(batch[i], x)).worst_bits, worst_bits(batch[i].degree()));
    EXPECT_GT(rig.precision(common[i], map_values(batch[i], x)).worst_bits, worst_bits(batch[i].degree()));
  }
}

TEST(PolynomialValues, ComplexCoefficientsAndSlots) {
  ckks_rig& rig = circuit_rig("test-n11-d8");
  const polynomial p{polynomial_basis::monomial, {{0.5, 0.25}, {0, 1}, {-0.25, 0.5}, {0.125, -0.125}}};
  const complex_vector x = rig.random_values(rig.slots(), 3);
  const ckks::ciphertext y = circuits::evaluate(rig.eval, p, rig.encrypt(x, 3));
  EXPECT_GT(rig.precision(y, map_values(p, x)).worst_bits, worst_bits(p.degree()));
}

TEST(PolynomialValues, ManualModeIsLeftAsItWas) {
  ckks_rig& rig = circuit_rig("test-n11-d8");
  const polynomial p = spread_polynomial(polynomial_basis::monomial, 5, polynomial_parity::none);
  const complex_vector x = spread_values(rig.slots());
  rig.eval.set_mode(ckks::maintenance::manual);
  const ckks::ciphertext y = circuits::evaluate(rig.eval, p, rig.encrypt(x, 4));
  EXPECT_EQ(rig.eval.mode(), ckks::maintenance::manual);
  rig.eval.set_mode(ckks::maintenance::automatic);
  EXPECT_GT(rig.precision(y, map_values(p, x)).worst_bits, worst_bits(p.degree()));
}

TEST(PolynomialErrors, SayWhatIsWrong) {
  ckks_rig& rig = circuit_rig("test-n11-d8");
  const ckks::ciphertext x = rig.encrypt(rig.random_values(4, 1), 3);
  const auto run = [&](const polynomial& p) { (void)circuits::evaluate(rig.eval, p, x); };
  EXPECT_THAT([&] { run(spread_polynomial(polynomial_basis::monomial, 16, {})); },
              ThrowsMessage<level_exhausted>(AllOf(HasSubstr("degree 16"), HasSubstr("needs 5 levels"),
                                                   HasSubstr("level 3"), HasSubstr("2 more"))));
  EXPECT_THAT(
      [&] {
        run(make_polynomial(polynomial_basis::monomial, {1.0, 0.0}));
      },
      ThrowsMessage<invalid_argument>(HasSubstr("degree 0")));
  EXPECT_THAT(
      [&] {
        run(make_polynomial(polynomial_basis::monomial, {1.0, NAN}));
      },
      ThrowsMessage<invalid_argument>(HasSubstr("finite")));
  EXPECT_THAT(
      [&] {
        run(make_polynomial(polynomial_basis::chebyshev, {1.0, 1.0}, 2, 1));
      },
      ThrowsMessage<invalid_argument>(HasSubstr("[2, 1]")));
  const std::vector<polynomial> mixed{make_polynomial(polynomial_basis::chebyshev, {1.0, 1.0}, 0, 1),
                                      make_polynomial(polynomial_basis::chebyshev, {1.0, 1.0}, 0, 2)};
  EXPECT_THAT([&] { (void)circuits::evaluate(rig.eval, mixed, x); },
              ThrowsMessage<invalid_argument>(HasSubstr("same interval")));
}

}  // namespace
}  // namespace halocline::test
