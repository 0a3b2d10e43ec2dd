// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "halocline/core/expects.hpp"
#include "halocline/pir/messages.hpp"

namespace halocline::pir {
namespace {

/// Variance of a uniform ternary coefficient.
constexpr double secret_variance = 2.0 / 3.0;

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
  double spread;  ///< largest eigenvalue of the covariance of all leaves of a row sum, over its trace
};

/// Mean square of plaintext coefficients over t^2: that of any records, and of uniform ones.
double plain_square(const parameters& of, contents records) {
  if (records == contents::any) return 1.0 / 4;
  return of.lifts_at_random() ? 1.0 / 6 : 1.0 / 12;
}

variances variances_of(const parameters& of, const layout& at, contents records) {
  const auto n = static_cast<double>(of.n());
  const double fresh = square(of.source().error_stddev);
  const double leaves = std::exp2(at.expansion_depth(of));
  variances v{};
  // Each level doubles the plaintext and adds the noise of a key switch; what level l adds grows by 4 for
  // every level that follows, on 1/2 of the coefficients each time.
  v.leaf = leaves * (digit_variance(of, at.expansion) * n * fresh + fresh);
  v.completed = digit_variance(of, at.secret) * n * fresh + v.leaf * n * secret_variance;
  const double plain = square(std::exp2(of.source().plain_bits)) * plain_square(of, records);
  v.row = at.rows * n * v.leaf * plain;
  // A level takes a node to two whose squares add up to four times its own, so that the noise of a key switch
  // at level l has all its eigenvalues equal, 2 * 4^(h - l), and that of the query 4^h.
  const double switched = digit_variance(of, at.expansion) * n * fresh;
  v.spread = leaves * (2.0 / 3 * switched + fresh) / ((switched + fresh) * at.rows * n);
  v.selected = v.row + at.column_bits() * digit_variance(of, at.selection) * n * (v.leaf + v.completed);
  return v;
}

/// log2 of a factor of the failure probability. Given the random integers a that stand for the records, the
/// noise of a row sum has the variance (1 + d) V, V being that of the formula, and that of an answer the
/// variance (1 + share d) times that of the formula. With y = share d and u half the square of the threshold
/// in deviations the factor is E[sqrt(1 + y) exp(-u / (1 + y))] / exp(-u), where sqrt(1 + y) <= exp(y / 2),
/// 1 / (1 + y) lies above each of its tangents, and E[exp(x d)] <= exp(x^2 spread / (1 - 2 x spread)), as a
/// is sub-Gaussian with the variance t^2/4 (Hsu, Kakade, Zhang: A tail inequality for quadratic forms of
/// subgaussian random vectors, 2012).
double log2_fluctuation(double u, double share, double spread) {
  double least = 0;
  bool found = false;
  for (int i = -1; i < 200; ++i) {
    const double at = i < 0 ? 0 : std::exp2(0.5 * i - 10);  // where the tangent touches
    const double slope = u * share / square(1 + share * at);
    const double x = slope + share / 2;
    if (2 * x * spread >= 1) continue;
    const double exponent = u - u / (1 + share * at) - slope * at + square(x) * spread / (1 - 2 * x * spread);
    if (!found || exponent < least) least = exponent;
    found = true;
  }
  return least * std::log2(std::exp(1.0));
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

/// Bytes of a ciphertext in memory.
double ciphertext_bytes(const parameters& of) {
  return 2.0 * sizeof(std::uint32_t) * static_cast<double>(of.n() * of.primes().size());
}

/// Transforms of limbs that make the digits of a polynomial in NTT form: inverses, then each digit modulo
/// each prime. A single digit is the residue itself, so that its own prime has the transform already.
double digit_transforms(const parameters& of, const gadget& split) {
  const auto primes = static_cast<double>(of.primes().size());
  return primes + primes * (split.digits == 1 ? primes - 1 : split.digits * primes);
}

/// Nodes of an expansion that have children.
double inner_nodes(const parameters& of, const layout& at) {
  double nodes = 0;
  for (std::uint64_t level = at.packed(of); level > 1;) {
    level = (level + 1) / 2;
    nodes += static_cast<double>(level);
  }
  return nodes;
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

noise_forecast forecast(const parameters& of, const layout& at, std::uint32_t planes, contents records) {
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
  const variances v = variances_of(of, at, records);
  noise_forecast result;
  result.leaf = log2_deviation(v.leaf);
  result.completed = log2_deviation(v.completed);
  result.row = log2_deviation(v.row);
  result.selected = log2_deviation(v.selected);
  const double answer = answer_variance(of, at, v.selected);
  result.answer = log2_deviation(answer);
  result.log2_failure = log2_any_beyond(0.5 / std::sqrt(2 * answer), of.n() * planes);
  if (of.lifts_at_random()) {
    const double rows = v.row * square(std::exp2(of.source().plain_bits - of.log2_q()));
    result.log2_failure =
        std::min(0.0, result.log2_failure + log2_fluctuation(0.125 / answer, rows / answer, v.spread));
  }
  return result;
}

layout_sizes sizes(const parameters& of, const layout& at) {
  const message_sizes sent = message_sizes_of({of, at, 1, 1});
  const std::size_t primes = of.primes().size();
  const std::size_t ciphertexts = at.rows + std::size_t{2} * at.column_bits() * at.selection.digits * primes;
  layout_sizes result;
  result.query = sent.query;
  result.server_keys = sent.server_keys;
  result.answer = sent.answer;
  result.database = std::size_t{4} * at.rows * at.columns * of.n() * primes;
  result.expanded = std::size_t{2} * 4 * ciphertexts * of.n() * primes;
  return result;
}

layout_work work(const parameters& of, const layout& at, std::uint32_t planes) {
  const auto primes = static_cast<double>(of.primes().size());
  const double columns = static_cast<double>(at.columns) * planes;
  const double rows_of_bits = at.column_bits() * at.selection.digits * primes;
  layout_work result;
  result.transforms = inner_nodes(of, at) * digit_transforms(of, at.expansion) +
                      rows_of_bits * digit_transforms(of, at.secret) +
                      (columns - planes) * 2 * digit_transforms(of, at.selection) + 2 * primes * planes;
  result.products = 2 * primes * static_cast<double>(of.n()) * at.rows * columns;
  result.database = 4 * primes * static_cast<double>(of.n()) * at.rows * columns;
  // A level of the expansion reads a node and writes two, which are as many in all levels above the last as
  // in that one; then rows are turned and read. Columns are written, and each pair is read and written.
  result.traffic =
      ciphertext_bytes(of) * (3.0 * static_cast<double>(at.packed(of)) + 3.0 * at.rows + 4 * columns);
  return result;
}

}  // namespace halocline::pir
