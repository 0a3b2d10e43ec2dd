// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/polynomial.hpp"

#include <algorithm>
#include <utility>

#include "circuits/mode_scope.hpp"
#include "circuits/polynomial_plan.hpp"
#include "circuits/polynomial_rounds.hpp"
#include "circuits/power_basis.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using ckks::ciphertext;
using ckks::pointers;
using ciphertexts = std::vector<ciphertext>;
using complex = std::complex<double>;
using detail::sum_node;

/// Executes a plan for ciphertexts of one shape: every node has the level and the scale of its results as
/// input, and encodes its constants accordingly.
class tree_evaluator {
 public:
  tree_evaluator(ckks::evaluator& eval, detail::power_basis& powers) : eval_(eval), powers_(powers) {}

  [[nodiscard]] ciphertexts run(const sum_node& node, unsigned level, double scale) {
    const double raw_scale = static_cast<double>(scale * ckks::rescale_ratio(parameters(), level + 1));
    ciphertexts results;
    if (!node.products.empty()) {
      ciphertexts sums = products(node, level + 1, raw_scale);
      if (can_ignore(node, level + 1)) {
        for (const auto& [power, coefficient] : node.terms) {
          eval_.add_multiples(sums, powers_.at(power, level + 1), coefficient);
        }
      } else {
        sums = eval_.add(pointers(sums), pointers(divided_terms(node, level + 1, raw_scale)));
      }
      results = eval_.finish_product(pointers(sums));
    } else if (can_ignore(node, level + 1)) {
      results = eval_.rescale(pointers(raw_terms(node, level + 1, raw_scale)));
    } else if (lowest_level(node) == level + 1) {
      results = eval_.rescale(pointers(divided_terms(node, level + 1, raw_scale)));
    } else {
      results = divided_terms(node, level, scale);
    }
    if (node.constant != complex{}) eval_.add_constants(results, node.constant);
    return results;
  }

 private:
  [[nodiscard]] const params::parameters& parameters() const { return eval_.context().parameters(); }

  /// sum of factor * giant, three components at `level` and `scale`.
  [[nodiscard]] ciphertexts products(const sum_node& node, unsigned level, double scale) {
    std::vector<ciphertexts> factors;  // keeps what `left` points to
    std::vector<std::vector<const ciphertext*>> left;
    std::vector<std::vector<const ciphertext*>> right;
    for (const detail::product_node& product : node.products) {
      right.push_back(powers_.at(product.giant, level));
      factors.push_back(run(*product.factor, level, scale / right.back().front()->scale));
      left.push_back(pointers(factors.back()));
    }
    return eval_.unfinished_dot(left, right, level);
  }

  /// Whether all powers of the terms come down to `level` without a division.
  [[nodiscard]] bool can_ignore(const sum_node& node, unsigned level) const {
    return std::ranges::all_of(node.terms, [&](const auto& term) {
      return ckks::has_primes_of(parameters(), powers_.level(term.first), level);
    });
  }

  /// sum of coefficient * power at `level` and `scale`, that of a product: no divisions.
  [[nodiscard]] ciphertexts raw_terms(const sum_node& node, unsigned level, double scale) {
    ciphertexts sums;
    for (const auto& [power, coefficient] : node.terms) {
      const std::vector<const ciphertext*> operands = powers_.at(power, level);
      if (sums.empty()) {
        sums = eval_.multiples(operands, coefficient, level, scale);
      } else {
        eval_.add_multiples(sums, operands, coefficient);
      }
    }
    return sums;
  }

  [[nodiscard]] unsigned lowest_level(const sum_node& node) const {
    unsigned lowest = powers_.level(node.terms.front().first);
    for (const auto& [power, coefficient] : node.terms) lowest = std::min(lowest, powers_.level(power));
    return lowest;
  }

  /// The same where levels have primes that those above lack. Summed at the level of the lowest power and
  /// brought down once: that is one division for the sum instead of one for each power and level.
  [[nodiscard]] ciphertexts divided_terms(const sum_node& node, unsigned level, double scale) {
    const unsigned from = lowest_level(node);
    // Above `level` the sum has the scale of a product that has not been rescaled.
    const double canonical = parameters().level(from).scale;
    const double raw = from == level ? scale : canonical * canonical;
    ciphertexts sums;
    for (const auto& [power, coefficient] : node.terms) {
      std::vector<const ciphertext*> operands = powers_.at(power, from);
      ciphertexts lowered;  // keeps what `operands` points to
      if (operands.front()->level != from) {
        lowered = eval_.drop_level(operands, from);
        operands = pointers(lowered);
      }
      ciphertexts made = eval_.multiply_constant_raw(operands, coefficient, raw / operands.front()->scale);
      sums = sums.empty() ? std::move(made) : eval_.add(pointers(sums), pointers(made));
    }
    return eval_.adjust(pointers(sums), level, scale);
  }

  ckks::evaluator& eval_;
  detail::power_basis& powers_;
};

/// The variables of the power basis, mapped to [-1, 1]: of canonical scale, and doubled with their scale for
/// Chebyshev polynomials.
ciphertexts make_variables(ckks::evaluator& eval, const polynomial& p, ckks::ciphertext_span many,
                           unsigned level) {
  const params::parameters& parameters = eval.context().parameters();
  const double slope = detail::interval_slope(p);
  const double offset = detail::interval_offset(p);
  const double scale = parameters.level(level).scale;
  const double twice = p.basis == polynomial_basis::chebyshev ? 2.0 : 1.0;
  ciphertexts mapped;
  if (detail::interval_levels(p) == 0) {
    mapped = eval.adjust(many, level, scale);
    if (twice * slope != 1.0) mapped = eval.multiply_constant_raw(pointers(mapped), twice * slope, 1.0);
  } else {
    const ciphertexts lowered = many.front()->level == level + 1 ? ckks::clone(eval.context(), many)
                                                                 : eval.drop_level(many, level + 1);
    const double factor = ckks::matching_plain_scale(parameters, level + 1, lowered.front().scale);
    mapped = eval.rescale(pointers(eval.multiply_constant_raw(pointers(lowered), twice * slope, factor)));
  }
  for (ciphertext& each : mapped) each.scale *= twice;
  if (offset != 0.0) eval.add_constants(mapped, offset);
  return mapped;
}

/// The level of the variables: the lowest that reaches the results.
/// @throws level_exhausted
unsigned variable_level(const params::parameters& parameters, std::span<const polynomial> batch,
                        const ciphertext& x, const polynomial_options& options) {
  unsigned degree = 1;
  for (const polynomial& p : batch) degree = std::max(degree, p.degree());
  const unsigned depth = detail::degree_levels(degree);
  const unsigned before = detail::variable_levels(parameters, batch.front(), x);
  const unsigned lowest = options.level.value_or(0);
  HALOCLINE_EXPECTS(
      x.level >= lowest + before + depth, level_exhausted, "polynomial of degree ", degree, ": needs ",
      before + depth, " levels", before != 0 ? " (one for the interval or the scale)" : "",
      options.level ? text(" above level ", lowest) : std::string(), ", the input is at level ", x.level,
      "; ", lowest + before + depth - x.level, " more are needed: encrypt at a higher level, ",
      "choose parameters with more levels, or lower the degree");
  return options.level ? lowest + depth : x.level - before;
}

void check_inputs(const ckks::context& ctx, ckks::ciphertext_span many) {
  HALOCLINE_EXPECTS(!many.empty(), invalid_argument, "polynomial: no ciphertexts; expected at least one");
  for (const ciphertext* x : many) {
    ckks::check(ctx, *x, "polynomial");
    HALOCLINE_EXPECTS(x->parts.size() == 2, invalid_argument, "polynomial: the input has ", x->parts.size(),
                      " components; relinearize it first");
  }
}

/// Values of every polynomial for all ciphertexts.
std::vector<ciphertexts> evaluate_all(ckks::evaluator& eval, std::span<const polynomial> batch,
                                      ckks::ciphertext_span many, const polynomial_options& options) {
  const backend::scoped_operation named("polynomial");
  check_inputs(eval.context(), many);
  detail::require_evaluable(batch);
  const params::parameters& parameters = eval.context().parameters();
  const unsigned top = variable_level(parameters, batch, *many.front(), options);
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  detail::power_basis powers(eval, batch.front().basis, make_variables(eval, batch.front(), many, top));
  std::vector<unsigned> budgets;
  for (const polynomial& p : batch) {
    budgets.push_back(options.level ? top - *options.level : detail::degree_levels(p.degree()));
  }
  const detail::evaluation_plan plan = detail::make_plan(batch, budgets);
  std::vector<detail::polynomial_target> targets;
  for (const unsigned budget : budgets) {
    const unsigned level = top - budget;
    targets.push_back({level, options.scale.value_or(parameters.level(level).scale)});
  }
  if (detail::goes_in_rounds(eval.context(), plan)) {
    return detail::evaluate_in_rounds(eval, powers, plan, targets);
  }
  std::vector<ciphertexts> results;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    results.push_back(tree_evaluator(eval, powers).run(plan.roots[i], targets[i].level, targets[i].scale));
  }
  return results;
}

}  // namespace

unsigned polynomial::degree() const noexcept {
  for (std::size_t k = coefficients.size(); k > 1; --k) {
    if (coefficients[k - 1] != complex{}) return static_cast<unsigned>(k - 1);
  }
  return 0;
}

polynomial_parity polynomial::parity() const noexcept {
  bool seen[2] = {false, false};
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    if (coefficients[k] != complex{}) seen[k % 2] = true;
  }
  if (!seen[1]) return polynomial_parity::even;
  return seen[0] ? polynomial_parity::none : polynomial_parity::odd;
}

complex polynomial::operator()(complex x) const {
  if (basis == polynomial_basis::monomial) {
    complex value{};
    for (std::size_t k = coefficients.size(); k-- > 0;) value = value * x + coefficients[k];
    return value;
  }
  const complex u = x * detail::interval_slope(*this) + detail::interval_offset(*this);
  complex next{};
  complex current{};
  for (std::size_t k = coefficients.size(); k-- > 1;) {
    next = std::exchange(current, coefficients[k] + 2.0 * u * current - next);
  }
  return (coefficients.empty() ? complex{} : coefficients.front()) + u * current - next;
}

polynomial_division divide(const polynomial& p, unsigned n) {
  const unsigned degree = p.degree();
  HALOCLINE_EXPECTS(n >= 1 && degree <= 2 * n, invalid_argument, "polynomial division: by degree ", n,
                    " of a polynomial of degree ", degree, "; expected at least half of it");
  polynomial_division result{{p.basis, {complex{}}, p.lower, p.upper}, {p.basis, {}, p.lower, p.upper}};
  std::vector<complex>& quotient = result.quotient.coefficients;
  std::vector<complex>& remainder = result.remainder.coefficients;
  remainder.assign(p.coefficients.begin(),
                   p.coefficients.begin() + std::min<std::ptrdiff_t>(n, std::ssize(p.coefficients)));
  if (degree < n) return result;
  quotient.assign(p.coefficients.begin() + n, p.coefficients.begin() + degree + 1);
  if (p.basis == polynomial_basis::monomial) return result;
  for (unsigned j = 1; j < quotient.size(); ++j) {
    remainder[n - j] -= quotient[j];
    quotient[j] *= 2.0;
  }
  return result;
}

polynomial_cost cost(const polynomial& p) { return cost(std::span(&p, 1)); }

polynomial_cost cost(std::span<const polynomial> batch) {
  detail::require_evaluable(batch);
  std::vector<unsigned> budgets;
  for (const polynomial& p : batch) budgets.push_back(detail::degree_levels(p.degree()));
  polynomial_cost result = detail::make_plan(batch, budgets).cost;
  result.levels += detail::interval_levels(batch.front());
  return result;
}

unsigned levels(const polynomial& p) {
  return detail::degree_levels(p.degree()) + detail::interval_levels(p);
}

std::vector<ckks::key_request> key_requests(const polynomial& p, unsigned input_level) {
  if (p.degree() < 2) return {};
  return {{ckks::relinearization_element, input_level - detail::interval_levels(p)}};
}

ciphertext evaluate(ckks::evaluator& eval, const polynomial& p, const ciphertext& x,
                    const polynomial_options& options) {
  return std::move(evaluate(eval, std::span(&p, 1), x, options).front());
}

std::vector<ciphertext> evaluate(ckks::evaluator& eval, const polynomial& p, ckks::ciphertext_span many,
                                 const polynomial_options& options) {
  return std::move(evaluate_all(eval, std::span(&p, 1), many, options).front());
}

std::vector<ciphertext> evaluate(ckks::evaluator& eval, std::span<const polynomial> batch,
                                 const ciphertext& x, const polynomial_options& options) {
  const ciphertext* const one[] = {&x};
  std::vector<ciphertext> results;
  for (ciphertexts& each : evaluate_all(eval, batch, one, options)) {
    results.push_back(std::move(each.front()));
  }
  return results;
}

}  // namespace halocline::circuits
