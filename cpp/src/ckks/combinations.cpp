// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/combinations.hpp"

#include <cmath>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/joined_sums.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;

void check(ciphertext_span values, std::span<const std::vector<double>> rows, unsigned level) {
  HALOCLINE_EXPECTS(!values.empty() && !rows.empty(), invalid_argument, "combine: ", values.size(),
                    " ciphertexts and ", rows.size(), " rows of numbers; expected at least one of both");
  const ciphertext& first = *values.front();
  for (const ciphertext* each : values) {
    HALOCLINE_EXPECTS(each->level > level, level_exhausted, "combine: a ciphertext at level ", each->level,
                      ", expected one above level ", level, ", that of the result");
    HALOCLINE_EXPECTS(each->slots == first.slots && each->parts.size() == first.parts.size(),
                      invalid_argument, "combine: a ciphertext of ", each->slots, " slots and ",
                      each->parts.size(), " components, the first one of ", first.slots, " and ",
                      first.parts.size(), "; expected the same");
  }
  for (const std::vector<double>& row : rows) {
    HALOCLINE_EXPECTS(row.size() == values.size(), invalid_argument, "combine: a row of ", row.size(),
                      " numbers for ", values.size(), " ciphertexts; expected one for each");
    for (const double each : row) {
      HALOCLINE_EXPECTS(std::isfinite(each), invalid_argument, "combine: the number ", each,
                        "; expected a finite one");
    }
  }
}

/// The ciphertexts, or what they become at `level` where they lack primes of it.
operands with_primes(context& ctx, ciphertext_span values, unsigned level) {
  const params::parameters& parameters = ctx.parameters();
  operands result(values);
  std::vector<adjustment> targets;
  for (const ciphertext* each : values) {
    if (has_primes_of(parameters, each->level, level)) continue;
    const double scale = each->scale * (parameters.level(level).scale / parameters.level(each->level).scale);
    targets.push_back({each, level, snap_scale(parameters, level, scale)});
  }
  if (targets.empty()) return result;
  result.copies = adjusted(ctx, targets);
  auto next = result.copies.begin();
  for (const ciphertext*& each : result.views) {
    if (!has_primes_of(parameters, each->level, level)) each = &*next++;
  }
  return result;
}

/// Product i of all rows.
std::vector<multiple> products(const params::parameters& parameters, const ciphertext& value, std::size_t i,
                               std::span<const std::vector<double>> rows, unsigned level) {
  const double scale = matching_plain_scale(parameters, level, value.scale);
  std::vector<multiple> made;
  for (const std::vector<double>& row : rows) made.push_back({&value, row[i], scale, level});
  return made;
}

}  // namespace

std::vector<ciphertext> combinations(evaluator& on, ciphertext_span values,
                                     std::span<const std::vector<double>> rows, unsigned level) {
  const backend::scoped_operation named("combine");
  check(values, rows, level);
  context& ctx = on.context();
  const operands sources = with_primes(ctx, values, level + 1);
  const auto round = [&](std::size_t i) {
    return products(ctx.parameters(), *sources.views[i], i, rows, level + 1);
  };
  std::vector<ciphertext> sums = multiples(ctx, round(0));
  std::vector<ciphertext*> to;
  for (ciphertext& each : sums) to.push_back(&each);
  for (std::size_t i = 1; i < values.size(); ++i) add_multiples(ctx, to, round(i));
  return on.rescale(pointers(sums));
}

}  // namespace halocline::ckks
