// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/comparison.hpp"

#include <cmath>
#include <utility>

#include "circuits/mode_scope.hpp"
#include "circuits/polynomial_plan.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using ckks::ciphertext;

/// The polynomials of a chain; the first takes its argument in [-range, range]. With `as_step` the last gives
/// (value + 1) / 2, which costs nothing that way.
std::vector<polynomial> stages_of(const composite_sign& chain, double range, bool as_step) {
  HALOCLINE_EXPECTS(std::isfinite(range) && range > 0, invalid_argument, "comparison: range ", range,
                    "; expected a positive bound of the argument");
  std::vector<polynomial> stages;
  for (const minimax_stage& stage : chain.stages) {
    polynomial p{polynomial_basis::chebyshev, std::vector<std::complex<double>>(stage.degree() + 1), -1.0,
                 1.0};
    for (std::size_t k = 0; k < stage.chebyshev_odd.size(); ++k)
      p.coefficients[2 * k + 1] = stage.chebyshev_odd[k];
    stages.push_back(std::move(p));
  }
  stages.front().lower = -range;
  stages.front().upper = range;
  if (as_step) {
    for (auto& c : stages.back().coefficients) c *= 0.5;
    stages.back().coefficients.front() = 0.5;
  }
  return stages;
}

bool multiplies(comparison_kind kind) {
  return kind == comparison_kind::maximum || kind == comparison_kind::relu;
}

/// Evaluates the stages one after the other. Checks before anything is computed that the levels suffice,
/// `extra` ones for what follows included.
ciphertext run(ckks::evaluator& eval, const ciphertext& x, const std::vector<polynomial>& stages,
               const composite_sign& chain, unsigned extra, const char* operation) {
  const backend::scoped_operation named("sign");
  ckks::check(eval.context(), x, operation);
  unsigned wanted = extra + detail::variable_levels(eval.context().parameters(), stages.front(), x);
  for (const polynomial& p : stages) wanted += detail::degree_levels(p.degree());
  HALOCLINE_EXPECTS(x.level >= wanted, level_exhausted, operation, " with precision 2^-", chain.alpha,
                    " on [", stages.front().lower, ", ", stages.front().upper, "]: needs ", wanted,
                    " levels, the input is at level ", x.level, "; ", wanted - x.level,
                    " more are needed: take a chain of lower precision, parameters with more levels, or "
                    "bootstraps (in Python "
                    "hc.choose finds parameters, and Engine(..., bootstrap=\"auto\") places bootstraps)");
  ciphertext value = evaluate(eval, stages.front(), x);
  for (std::size_t i = 1; i < stages.size(); ++i) value = evaluate(eval, stages[i], value);
  return value;
}

/// (a - b) step(a - b).
ciphertext positive_difference(ckks::evaluator& eval, const ciphertext& a, const ciphertext& b,
                               const composite_sign& chain, double range, const char* operation) {
  const ciphertext difference = eval.sub(a, b);
  return eval.multiply(difference, run(eval, difference, stages_of(chain, range, true), chain, 1, operation));
}

}  // namespace

unsigned comparison_levels(comparison_kind kind, const composite_sign& chain, double range) {
  unsigned total = multiplies(kind) ? 1 : 0;
  for (const polynomial& p : stages_of(chain, range, false)) total += levels(p);
  return total;
}

std::size_t comparison_key_switches(comparison_kind kind, const composite_sign& chain, double range) {
  std::size_t total = multiplies(kind) ? 1 : 0;
  for (const polynomial& p : stages_of(chain, range, false)) total += cost(p).key_switches;
  return total;
}

std::vector<ckks::key_request> comparison_keys(const composite_sign& chain, unsigned input_level,
                                               double range) {
  return key_requests(stages_of(chain, range, false).front(), input_level);
}

ciphertext sign(ckks::evaluator& eval, const ciphertext& x, const composite_sign& chain, double range) {
  return run(eval, x, stages_of(chain, range, false), chain, 0, "sign");
}

ciphertext step(ckks::evaluator& eval, const ciphertext& x, const composite_sign& chain, double range) {
  return run(eval, x, stages_of(chain, range, true), chain, 0, "step");
}

ciphertext compare(ckks::evaluator& eval, const ciphertext& a, const ciphertext& b,
                   const composite_sign& chain, double range) {
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  return run(eval, eval.sub(a, b), stages_of(chain, range, true), chain, 0, "compare");
}

ciphertext maximum(ckks::evaluator& eval, const ciphertext& a, const ciphertext& b,
                   const composite_sign& chain, double range) {
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  return eval.add(b, positive_difference(eval, a, b, chain, range, "maximum"));
}

ciphertext minimum(ckks::evaluator& eval, const ciphertext& a, const ciphertext& b,
                   const composite_sign& chain, double range) {
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  return eval.sub(a, positive_difference(eval, a, b, chain, range, "minimum"));
}

ciphertext relu(ckks::evaluator& eval, const ciphertext& x, const composite_sign& chain, double range) {
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  return eval.multiply(x, run(eval, x, stages_of(chain, range, true), chain, 1, "relu"));
}

}  // namespace halocline::circuits
