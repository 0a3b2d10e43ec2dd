// SPDX-License-Identifier: Apache-2.0
#include "circuits/polynomial_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits::detail {
namespace {

// A key switch transforms every limb several times, a product with a constant passes over each limb once;
// measured on the CPU backend it is 30 to 60 times as fast. Only the order of plans depends on it.
constexpr double constant_product_weight = 1.0 / 32;
// A sum of powers that is a factor is rescaled by itself: one division of two components without the
// decomposition and the products of a key switch.
constexpr double rescale_weight = 1.0 / 4;

// Integer slopes up to this cost no level: they multiply as integers (see evaluator::multiply_constant).
constexpr double largest_integer_slope = 0x1p20;

/// Splits p by giant steps until a sum of at most `babies` powers is left, such that no operand of a node
/// lies deeper than its budget allows. Invariant: the degree of p is below 2^budget.
sum_node plan_sum(polynomial p, unsigned budget, unsigned babies) {
  sum_node node;
  const auto usable = [&](const polynomial& rest) {
    for (unsigned i = 1; i < rest.coefficients.size(); ++i) {
      if (rest.coefficients[i] != 0.0 && power_depth(i) >= budget) return false;
    }
    return true;
  };
  while (p.degree() > babies || !usable(p)) {
    const unsigned giant = std::bit_floor(p.degree());
    polynomial_division parts = divide(p, giant);
    if (parts.quotient.degree() == 0) {
      node.terms.emplace_back(giant, parts.quotient.coefficients.front());
    } else {
      node.products.push_back(
          {giant, std::make_unique<sum_node>(plan_sum(std::move(parts.quotient), budget - 1, babies))});
    }
    p = std::move(parts.remainder);
  }
  for (unsigned i = 1; i < p.coefficients.size(); ++i) {
    if (p.coefficients[i] != 0.0) node.terms.emplace_back(i, p.coefficients[i]);
  }
  if (!p.coefficients.empty()) node.constant = p.coefficients.front();
  return node;
}

void need_power(std::set<unsigned>& powers, unsigned power, polynomial_basis basis) {
  if (power < 2 || !powers.insert(power).second) return;
  const auto [first, second] = power_factors(power);
  need_power(powers, first, basis);
  need_power(powers, second, basis);
  if (basis == polynomial_basis::chebyshev) need_power(powers, first - second, basis);
}

void count(evaluation_plan& plan, const sum_node& node, polynomial_basis basis) {
  plan.cost.constant_products += node.terms.size();
  plan.cost.products += node.products.size();
  if (!node.products.empty()) ++plan.cost.key_switches;
  for (const auto& [power, coefficient] : node.terms) need_power(plan.powers, power, basis);
  for (const product_node& product : node.products) {
    need_power(plan.powers, product.giant, basis);
    if (product.factor->products.empty()) ++plan.rescales;
    count(plan, *product.factor, basis);
  }
}

evaluation_plan plan_with(std::span<const polynomial> batch, std::span<const unsigned> budgets,
                          unsigned babies) {
  evaluation_plan plan;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    plan.roots.push_back(plan_sum(batch[i], budgets[i], babies));
    plan.cost.levels = std::max(plan.cost.levels, degree_levels(batch[i].degree()));
    count(plan, plan.roots.back(), batch[i].basis);
  }
  plan.cost.products += plan.powers.size();
  plan.cost.key_switches += plan.powers.size();
  return plan;
}

}  // namespace

unsigned power_depth(unsigned power) noexcept { return static_cast<unsigned>(std::bit_width(power - 1)); }

std::pair<unsigned, unsigned> power_factors(unsigned power) noexcept {
  const unsigned first = std::bit_floor(power - 1);
  return {first, power - first};
}

unsigned degree_levels(unsigned degree) noexcept { return static_cast<unsigned>(std::bit_width(degree)); }

evaluation_plan make_plan(std::span<const polynomial> batch, std::span<const unsigned> budgets) {
  unsigned degree = 1;
  for (const polynomial& p : batch) degree = std::max(degree, p.degree());
  std::optional<evaluation_plan> best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned babies = 1;; babies = 2 * babies + 1) {
    evaluation_plan plan = plan_with(batch, budgets, babies);
    const double work = static_cast<double>(plan.cost.key_switches) +
                        rescale_weight * static_cast<double>(plan.rescales) +
                        constant_product_weight * static_cast<double>(plan.cost.constant_products);
    if (work < least) {
      least = work;
      best = std::move(plan);
    }
    if (babies >= degree) return std::move(*best);
  }
}

void require_evaluable(std::span<const polynomial> batch) {
  HALOCLINE_EXPECTS(!batch.empty(), invalid_argument, "polynomial: no polynomials to evaluate");
  const polynomial& first = batch.front();
  for (const polynomial& p : batch) {
    HALOCLINE_EXPECTS(p.degree() > 0, invalid_argument,
                      "polynomial: degree 0 does not depend on the ciphertext; use the constant itself");
    for (const std::complex<double> c : p.coefficients) {
      HALOCLINE_EXPECTS(std::isfinite(c.real()) && std::isfinite(c.imag()), invalid_argument,
                        "polynomial: coefficient ", c, " is not finite");
    }
    HALOCLINE_EXPECTS(p.basis == first.basis, invalid_argument,
                      "polynomial: a batch shares its powers, so all must be in the same basis");
    if (p.basis == polynomial_basis::monomial) continue;
    HALOCLINE_EXPECTS(std::isfinite(p.lower) && std::isfinite(p.upper) && p.lower < p.upper, invalid_argument,
                      "polynomial: interval [", p.lower, ", ", p.upper,
                      "]; expected lower < upper, both finite");
    HALOCLINE_EXPECTS(p.lower == first.lower && p.upper == first.upper, invalid_argument,
                      "polynomial: a batch shares its powers, so all must have the same interval; got [",
                      first.lower, ", ", first.upper, "] and [", p.lower, ", ", p.upper, "]");
  }
}

double interval_slope(const polynomial& p) noexcept {
  return p.basis == polynomial_basis::monomial ? 1.0 : 2.0 / (p.upper - p.lower);
}

double interval_offset(const polynomial& p) noexcept {
  return p.basis == polynomial_basis::monomial ? 0.0 : -(p.upper + p.lower) / (p.upper - p.lower);
}

unsigned interval_levels(const polynomial& p) noexcept {
  const double slope = interval_slope(p);
  return slope == std::round(slope) && slope <= largest_integer_slope ? 0 : 1;
}

unsigned variable_levels(const params::parameters& parameters, const polynomial& p,
                         const ckks::ciphertext& x) {
  const double canonical = parameters.level(x.level).scale;
  return ckks::same_scale(x.scale, canonical, ckks::scale_tolerance) ? interval_levels(p) : 1;
}

}  // namespace halocline::circuits::detail
