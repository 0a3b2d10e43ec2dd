// SPDX-License-Identifier: Apache-2.0
// Random polynomials of degrees 1 to 63 in both bases, at random levels and on random intervals.
#include "halocline/circuits/polynomial.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "halocline/ckks/context.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::polynomial;
using circuits::polynomial_basis;

constexpr unsigned highest_degree = 63;

/// Coefficients of which `share` are 0, with magnitudes that sum to 2.
polynomial draw(std::mt19937_64& random, unsigned degree) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  polynomial p;
  p.basis = random() % 2 == 0 ? polynomial_basis::monomial : polynomial_basis::chebyshev;
  const unsigned kept = random() % 4;  // all, odd only, even only, or a random half
  double total = 0;
  for (unsigned k = 0; k <= degree; ++k) {
    const bool wanted = k == degree || kept == 0 || (kept == 1 && k % 2 == 1) || (kept == 2 && k % 2 == 0) ||
                        (kept == 3 && random() % 2 == 0);
    p.coefficients.emplace_back(wanted ? uniform(random) : 0.0);
    total += std::abs(p.coefficients.back());
  }
  for (auto& c : p.coefficients) c *= 2 / total;
  if (p.basis == polynomial_basis::chebyshev && random() % 3 == 0) {
    p.lower = 4 * uniform(random);
    p.upper = p.lower + 1 + 3 * std::abs(uniform(random));
  }
  return p;
}

/// As in unit/test_polynomial.cpp: the input's error, 2^-29 for the largest slot, times the derivative, which
/// is about the degree, and one bit more for coefficients that are not spread evenly.
double worst_bits(unsigned degree) { return 26.0 - std::log2(degree + 1); }

TEST(PolynomialProperty, RandomPolynomials) {
  std::mt19937_64 random(test_seed);
  ckks_rig& rig = circuit_rig("test-n11-d8");
  for (unsigned degree = 1; degree <= highest_degree; ++degree) {
    const polynomial p = draw(random, degree);
    const unsigned wanted = circuits::levels(p);
    const unsigned level = wanted + static_cast<unsigned>(random() % (rig.top() - wanted + 1));
    SCOPED_TRACE(rig.describe() + " degree " + std::to_string(degree) + " level " + std::to_string(level) +
                 " basis " + std::to_string(static_cast<int>(p.basis)) + " on " + std::to_string(p.lower));
    std::uniform_real_distribution<double> uniform(p.lower, p.upper);
    complex_vector x(rig.slots());
    complex_vector expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = uniform(random);
      expected[i] = p(x[i]);
    }
    exact_keys keys(rig, circuits::key_requests(p, level));
    const ckks::ciphertext y = circuits::evaluate(keys.eval, p, rig.encrypt(x, level));
    EXPECT_EQ(y.level, level - wanted);
    EXPECT_NEAR(y.scale / rig.parameters().level(y.level).scale, 1.0, 1e-9);
    EXPECT_GT(rig.precision(y, expected).worst_bits, worst_bits(degree));
  }
}

TEST(PolynomialProperty, CostAndKeysAreThoseOfAGhostRun) {
  std::mt19937_64 random(test_seed + 1);
  for (unsigned degree = 1; degree <= highest_degree; ++degree) {
    ghost_rig ghost("test-n11-d8");
    const polynomial p = draw(random, degree);
    SCOPED_TRACE("degree " + std::to_string(degree));
    const ckks::ciphertext x = ghost.ghost_input(8, 16);
    ghost.ctx->runtime().start_trace();
    const ckks::ciphertext y = circuits::evaluate(ghost.eval, p, x);
    EXPECT_EQ(count_key_switches(ghost.ctx->runtime().stop_trace()), circuits::cost(p).key_switches);
    EXPECT_EQ(ghost.keys.requests(), circuits::key_requests(p, 8));
    EXPECT_EQ(y.level, 8 - circuits::cost(p).levels);
  }
}

TEST(PolynomialProperty, LowestLevelOnWideWords) {
  std::mt19937_64 random(test_seed + 2);
  ckks_rig& rig = circuit_rig("test-n10-d3-w64");
  for (unsigned degree = 1; degree <= 7; ++degree) {
    polynomial p = draw(random, degree);
    p.lower = -1.0;
    p.upper = 1.0;
    complex_vector x = rig.random_values(rig.slots(), degree);
    complex_vector expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] /= std::sqrt(2.0);  // inside the unit circle, where powers and T_k of low degree stay small
      expected[i] = p(x[i]);
    }
    SCOPED_TRACE("degree " + std::to_string(degree));
    const ckks::ciphertext y = circuits::evaluate(rig.eval, p, rig.encrypt(x, 3), {0u});
    EXPECT_EQ(y.level, 0u);
    // |T_7| reaches (1 + sqrt 2)^7 / 2 = 2^8 at i: six bits more than on the interval.
    EXPECT_GT(rig.precision(y, expected).worst_bits, worst_bits(degree) - 6);
  }
}

}  // namespace
}  // namespace halocline::test
