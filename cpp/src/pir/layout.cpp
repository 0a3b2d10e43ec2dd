// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "halocline/core/expects.hpp"

namespace halocline::pir {
namespace {

/// Variance of a uniform ternary coefficient.
constexpr double secret_variance = 2.0 / 3.0;
constexpr std::size_t seed_bytes = 32;

double square(double x) { return x * x; }

double log2_deviation(double variance) { return 0.5 * std::log2(variance); }

/// Sum of the variances of all digits of a residue vector: balanced digits are uniform, and the highest one
/// of each prime has what is left of its range.
double digit_variance(const parameters& of, const gadget& split) {
  const double top = std::exp2(of.source().prime_bits - split.base_bits * (split.digits - 1.0));
  const double others = (split.digits - 1.0) * square(std::exp2(split.base_bits));
  return static_cast<double>(of.primes().size()) * (others + square(top)) / 12;
}

/// log2 of N erfc(z): a bound for the probability that one of N Gaussian coefficients exceeds sqrt(2) z
/// deviations.
double log2_any_beyond(double z, std::size_t n) {
  const double log2_n = std::log2(static_cast<double>(n));
  // erfc underflows from 27 on: exp(-z^2) / (z sqrt(pi)) bounds it and is within 2 % from z = 5 on.
  const double tail = z < 5 ? std::log2(std::erfc(z))
                            : -z * z * std::log2(std::exp(1.0)) - std::log2(z * std::sqrt(std::acos(-1.0)));
  return std::min(0.0, log2_n + tail);
}

struct variances {
  double leaf, completed, row, selected;
};

variances variances_of(const parameters& of, const layout& at) {
  const auto n = static_cast<double>(of.n());
  const double fresh = square(of.source().error_stddev);
  const double leaves = std::exp2(at.expansion_depth(of));
  variances v{};
  // Each level doubles the plaintext and adds the noise of a key switch; what level l adds grows by 4 for
  // every level that follows, on 1/2 of the coefficients each time.
  v.leaf = leaves * (digit_variance(of, at.expansion) * n * fresh + fresh);
  v.completed = digit_variance(of, at.secret) * 2 * n * fresh + v.leaf * n * secret_variance;
  v.row = at.rows * n * v.leaf * square(std::exp2(of.source().plain_bits)) / 12;
  v.selected = v.row + at.column_bits() * digit_variance(of, at.selection) * n * (v.leaf + v.completed);
  return v;
}

/// Variance of an answer in units of the plaintext step, roundings of its two components included.
double answer_variance(const parameters& of, const layout& at, double selected) {
  const double t = std::exp2(of.source().plain_bits);
  const auto rounding = [t](unsigned bits) { return square(t * std::exp2(-double{1} * bits)) / 12; };
  const double first = at.answer_bits0 == 0 ? 0 : rounding(at.answer_bits0);
  const double second =
      at.answer_bits1 == 0 ? 0 : rounding(at.answer_bits1) * static_cast<double>(of.n()) * secret_variance;
  return selected * square(t * std::exp2(-of.log2_q())) + first + second;
}

std::size_t polynomial_bytes(const parameters& of) {
  return static_cast<std::size_t>(std::ceil(static_cast<double>(of.n()) * of.log2_q() / 8));
}

/// The answer's moduli with the fewest bits that keep the failure probability.
void choose_answer(const parameters& of, layout& at) {
  if (of.source().answer_bits) {
    at.answer_bits0 = at.answer_bits1 = *of.source().answer_bits;
    const double failure = forecast(of, at).log2_failure;
    HALOCLINE_EXPECTS(failure <= of.source().log2_failure, invalid_argument, "retrieval layout: answers of ",
                      at.answer_bits0, " bits fail with a probability of 2^", failure, "; '",
                      of.source().name, "' allows 2^", of.source().log2_failure, ". Give more answer_bits");
    return;
  }
  const unsigned highest = static_cast<unsigned>(of.log2_q());
  layout best = at;
  unsigned least = std::numeric_limits<unsigned>::max();
  for (unsigned bits0 = of.source().plain_bits + 1; bits0 <= highest; ++bits0) {
    for (unsigned bits1 = bits0; bits1 <= highest && bits0 + bits1 < least; ++bits1) {
      at.answer_bits0 = bits0;
      at.answer_bits1 = bits1;
      if (forecast(of, at).log2_failure > of.source().log2_failure) continue;
      best = at;
      least = bits0 + bits1;
    }
  }
  at = best;
}

double seconds(const parameters& of, const layout& at, const work_rates& rates) {
  const layout_work needed = work(of, at);
  const double butterflies = needed.transforms * static_cast<double>(of.n()) / 2 * of.source().log_n;
  return butterflies / rates.butterflies_per_second + needed.products / rates.products_per_second;
}

std::size_t key_limit(const parameters& of, const layout_request& request) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  if (request.max_key_bytes != 0) return request.max_key_bytes;
  return of.source().log_n >= 12 ? 32 * mebibyte / 10 : 16 * mebibyte / 10;
}

/// What is asked for, else what the scheme says.
std::optional<unsigned> either(std::optional<unsigned> asked, std::optional<unsigned> fixed) {
  return asked ? asked : fixed;
}

/// Calls `visit(layout)` for all layouts that a request leaves open and that fit in one query.
template <typename VisitT>
void for_each_layout(const parameters& of, const layout_request& request, const VisitT& visit) {
  const auto each_digit = [](std::optional<unsigned> given, const auto& body) {
    for (unsigned digits = given.value_or(1); digits <= given.value_or(8); ++digits) body(digits);
  };
  const std::uint64_t n = of.n();
  for (std::uint64_t rows = request.rows.value_or(1); rows <= request.rows.value_or(n); rows *= 2) {
    const std::uint64_t columns = (request.plaintexts - 1) / rows + 1;
    if (columns > std::numeric_limits<std::uint32_t>::max()) continue;
    layout at;
    at.rows = static_cast<std::uint32_t>(rows);
    at.columns = static_cast<std::uint32_t>(columns);
    const literal& fixed = of.source();
    each_digit(either(request.expansion_digits, fixed.expansion_digits), [&](unsigned expansion) {
      each_digit(either(request.selection_digits, fixed.selection_digits), [&](unsigned selection) {
        each_digit(either(request.secret_digits, fixed.secret_digits), [&](unsigned secret) {
          at.expansion = of.split(expansion);
          at.selection = of.split(selection);
          at.secret = of.split(secret);
          if (at.packed(of) <= n) visit(at);
        });
      });
    });
  }
}

}  // namespace

unsigned layout::column_bits() const noexcept {
  return columns <= 1 ? 0 : static_cast<unsigned>(std::bit_width(columns - 1));
}

std::uint64_t layout::packed(const parameters& of) const noexcept {
  return rows + std::uint64_t{column_bits()} * selection.digits * of.primes().size();
}

unsigned layout::expansion_depth(const parameters& of) const noexcept {
  return static_cast<unsigned>(std::bit_width(packed(of) - 1));
}

noise_forecast forecast(const parameters& of, const layout& at) {
  for (const gadget& split : {at.expansion, at.selection, at.secret}) {
    HALOCLINE_EXPECTS(split.digits >= 1 && split.digits <= 8 && split == of.split(split.digits),
                      invalid_argument, "retrieval layout: a gadget of ", split.digits, " digits in base 2^",
                      split.base_bits, "; expected what `parameters::split` gives");
  }
  HALOCLINE_EXPECTS(std::has_single_bit(at.rows) && at.columns > 0 && at.packed(of) <= of.n(),
                    invalid_argument, "retrieval layout: ", at.rows, " rows and ", at.columns,
                    " columns need ", at.packed(of),
                    " packed constants; expected a power of two of rows, a column, and at most N = ", of.n(),
                    " constants. Take fewer rows or digits");
  const variances v = variances_of(of, at);
  noise_forecast result;
  result.leaf = log2_deviation(v.leaf);
  result.completed = log2_deviation(v.completed);
  result.row = log2_deviation(v.row);
  result.selected = log2_deviation(v.selected);
  const double answer = answer_variance(of, at, v.selected);
  result.answer = log2_deviation(answer);
  result.log2_failure = log2_any_beyond(0.5 / std::sqrt(2 * answer), of.n());
  return result;
}

layout_sizes sizes(const parameters& of, const layout& at) {
  const std::size_t polynomial = polynomial_bytes(of);
  const std::size_t primes = of.primes().size();
  const std::size_t rows = (at.expansion_depth(of) * at.expansion.digits + 2 * at.secret.digits) * primes;
  layout_sizes result;
  result.query = polynomial + seed_bytes;
  result.server_keys = rows * (polynomial + seed_bytes);
  result.answer = of.n() * (at.answer_bits0 + at.answer_bits1) / 8;
  result.database = std::size_t{4} * at.rows * at.columns * of.n() * primes;
  result.expanded = std::size_t{2} * 4 * at.packed(of) * of.n() * primes;
  return result;
}

layout_work work(const parameters& of, const layout& at) {
  const auto primes = static_cast<double>(of.primes().size());
  const double constants = at.packed(of);
  const double bits = at.column_bits();
  layout_work result;
  // Inputs of products are transformed digit by digit, results are transformed back, two components each.
  const double expansion = (constants - 1) * (at.expansion.digits * primes + 2);
  const double completion = bits * at.selection.digits * primes * (2 * at.secret.digits * primes + 2);
  const double selection = (at.columns - 1.0) * (2 * at.selection.digits * primes + 2);
  result.transforms = primes * (expansion + completion + selection);
  result.products = 2 * primes * static_cast<double>(of.n()) * at.rows * at.columns;
  return result;
}

layout choose_layout(const parameters& of, const layout_request& request) {
  HALOCLINE_EXPECTS(request.plaintexts > 0, invalid_argument,
                    "retrieval layout: no plaintexts; expected a database with at least one record");
  HALOCLINE_EXPECTS(!request.rows || (std::has_single_bit(*request.rows) && *request.rows <= of.n()),
                    invalid_argument, "retrieval layout: ", request.rows.value_or(0),
                    " rows; expected a power of two of at most N = ", of.n());
  for (const double rate : {request.rates.butterflies_per_second, request.rates.products_per_second}) {
    HALOCLINE_EXPECTS(std::isfinite(rate) && rate > 0, invalid_argument, "retrieval layout: a rate of ", rate,
                      " a second; expected a positive number");
  }
  std::optional<layout> best;
  double best_seconds = 0;
  double lowest = 0;
  for_each_layout(of, request, [&](const layout& at) {
    const double failure = forecast(of, at).log2_failure;
    lowest = std::min(lowest, failure);
    if (failure > of.source().log2_failure || sizes(of, at).server_keys > key_limit(of, request)) return;
    const double taken = seconds(of, at, request.rates);
    if (best && taken >= best_seconds) return;
    best = at;
    best_seconds = taken;
  });
  HALOCLINE_EXPECTS(best.has_value(), invalid_argument, "retrieval layout: no layout of ", request.plaintexts,
                    " plaintexts has keys of at most ", key_limit(of, request),
                    " bytes and fails with a probability of at most 2^", of.source().log2_failure,
                    "; the lowest probability is 2^", lowest,
                    ". Give fewer of its numbers, allow larger keys, or take a smaller plaintext modulus");
  choose_answer(of, *best);
  return *best;
}

}  // namespace halocline::pir
