// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "halocline/circuits/polynomial.hpp"

/// The operations of a polynomial evaluation as a tree, without ciphertexts: what is counted and what is
/// carried out are the same thing.
namespace halocline::circuits::detail {

struct sum_node;

/// factor * b_giant.
struct product_node {
  unsigned giant = 0;
  std::unique_ptr<sum_node> factor;
};

/// constant + sum coefficient * b_power + sum of products, finished by one rescale.
struct sum_node {
  std::complex<double> constant;
  std::vector<std::pair<unsigned, std::complex<double>>> terms;
  std::vector<product_node> products;
};

/// Evaluation of several polynomials on one power basis.
struct evaluation_plan {
  std::vector<sum_node> roots;
  std::set<unsigned> powers;  ///< that must be computed, 1 not among them
  polynomial_cost cost;       ///< without change of interval
  std::size_t rescales = 0;   ///< of factors that are sums of powers
};

/// Depth of power i below the variable: ceil(log2 i).
[[nodiscard]] unsigned power_depth(unsigned power) noexcept;

/// How power i >= 2 is made: b_i from b_first and b_second, first + second = i, first the largest power of
/// two below i.
[[nodiscard]] std::pair<unsigned, unsigned> power_factors(unsigned power) noexcept;

/// Levels that a polynomial of this degree takes on [-1, 1]: ceil(log2(degree + 1)).
[[nodiscard]] unsigned degree_levels(unsigned degree) noexcept;

/// The cheapest plan over all numbers of baby steps. `budgets` are the levels that each polynomial may take,
/// at least `degree_levels`.
[[nodiscard]] evaluation_plan make_plan(std::span<const polynomial> batch, std::span<const unsigned> budgets);

/// Throws invalid_argument unless the polynomials can be evaluated together.
void require_evaluable(std::span<const polynomial> batch);

/// 1 when a change of interval takes a level, else 0.
[[nodiscard]] unsigned interval_levels(const polynomial& p) noexcept;

/// Levels between an input and the variable of the power basis: those of the interval, or one when the
/// input's scale is not canonical.
[[nodiscard]] unsigned variable_levels(const params::parameters& parameters, const polynomial& p,
                                       const ckks::ciphertext& x);

/// u = slope * x + offset maps the interval of p to [-1, 1]; 1 and 0 in the monomial basis.
[[nodiscard]] double interval_slope(const polynomial& p) noexcept;
[[nodiscard]] double interval_offset(const polynomial& p) noexcept;

}  // namespace halocline::circuits::detail
