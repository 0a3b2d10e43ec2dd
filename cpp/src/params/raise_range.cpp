// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/raise_range.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "halocline/core/expects.hpp"

namespace halocline::params {

namespace {

using integer = boost::multiprecision::cpp_int;

/// Largest number of terms that is summed exactly.
constexpr unsigned max_exact_terms = 1025;
/// Ranges are rounded down to multiples of 1/256, which errs towards a higher probability.
constexpr unsigned range_steps = 256;
constexpr double nothing = -std::numeric_limits<double>::infinity();

double log2_of(const integer& value) {
  const auto top = static_cast<unsigned>(msb(value));
  const unsigned drop = top > 60 ? top - 60 : 0;
  return std::log2((value >> drop).convert_to<double>()) + drop;
}

/// log2 P(S > range), S the sum of n uniform terms in [-1/2, 1/2): by symmetry that of V < x = n/2 - range
/// for a sum V of terms in [0, 1), which is 1/n! sum_{i <= x} (-1)^i binomial(n, i) (x - i)^n. All in units
/// of 1/256, so that the alternating sum is one of integers and nothing cancels.
double log2_exact_tail(unsigned n, double range) {
  const auto steps = static_cast<std::int64_t>(std::floor(range * range_steps));
  const std::int64_t x = static_cast<std::int64_t>(n) * (range_steps / 2) - steps;
  if (x <= 0) return nothing;
  integer sum = 0;
  integer binomial = 1;
  integer factorial = 1;
  for (unsigned i = 0; i <= n; ++i) {
    const std::int64_t rest = x - static_cast<std::int64_t>(i) * range_steps;
    if (rest <= 0) break;
    const integer term = binomial * boost::multiprecision::pow(integer(rest), n);
    sum += i % 2 == 0 ? term : -term;
    binomial = binomial * (n - i) / (i + 1);
  }
  for (unsigned i = 2; i <= n; ++i) factorial *= i;
  return log2_of(sum) - log2_of(factorial) - n * std::log2(static_cast<double>(range_steps));
}

/// The same for a normal distribution of that variance, whose tails are heavier.
double log2_normal_tail(unsigned n, double range) {
  const double deviations = range / std::sqrt(n / 12.0);
  const double tail = std::erfc(deviations / std::numbers::sqrt2) / 2;
  if (tail > 1e-290) return std::log2(tail);
  // erfc underflows: its asymptotic upper bound.
  return -deviations * deviations / 2 * std::numbers::log2e -
         std::log2(deviations * std::sqrt(2 * std::numbers::pi));
}

}  // namespace

unsigned raise_weight(const parameters& p) {
  if (p.encapsulation()) return p.bootstrapping()->ephemeral_weight;
  const secret_distribution& secret = p.secret();
  if (secret.kind == secret_kind::sparse) return secret.hamming_weight;
  return static_cast<unsigned>(2 * p.n() / 3);
}

double log2_overflow_probability(unsigned weight, double range, std::size_t coefficients) {
  HALOCLINE_EXPECTS(std::isfinite(range) && range >= 0 && coefficients > 0, invalid_argument, "range ", range,
                    " of ", coefficients,
                    " coefficients; expected a finite range of 0 or more and at least one");
  const unsigned terms = weight + 1;
  const double tail =
      1 + (terms <= max_exact_terms ? log2_exact_tail(terms, range) : log2_normal_tail(terms, range));
  if (tail == nothing) return nothing;
  // 1 - (1 - p)^count
  const double count = static_cast<double>(coefficients);
  const double p = std::min(1.0, std::exp2(tail));
  if (p < 0x1p-60) return std::min(0.0, tail + std::log2(count));
  return std::log2(-std::expm1(count * std::log1p(-p)));
}

double overflow_range(unsigned weight, double log2_probability, std::size_t coefficients) {
  HALOCLINE_EXPECTS(log2_probability < 0, invalid_argument, "a probability of 2^", log2_probability,
                    "; expected below 1");
  double low = 0;
  double high = 1;
  while (log2_overflow_probability(weight, high, coefficients) > log2_probability) high *= 2;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (log2_overflow_probability(weight, middle, coefficients) > log2_probability ? low : high) = middle;
  }
  return high;
}

}  // namespace halocline::params
