// SPDX-License-Identifier: Apache-2.0
#include "seal/operand_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halocline/core/expects.hpp"

namespace halocline::seal::detail {
namespace {

/// A relative difference that rounding alone does not make.
constexpr double scale_tolerance = std::numeric_limits<double>::epsilon();

}  // namespace

void check_operand(const context& on, const polynomials& a, const char* what) {
  HALOCLINE_EXPECTS(a.is_of(on), invalid_argument, what, ": an operand is of another engine; load it here");
}

void check_scales(double a, double b, const char* what) {
  const double larger = std::max({1.0, std::abs(a), std::abs(b)});
  HALOCLINE_EXPECTS(std::abs(a - b) < scale_tolerance * larger, scale_mismatch, what, ": scales ", a, " and ",
                    b, "; expected equal ones. Rescale, or set the scale where they are nearly equal");
}

void check_scale(const context& on, double scale, std::uint32_t primes, const char* what) {
  const double bits = std::floor(on.log2_modulus(primes)) + 1;
  HALOCLINE_EXPECTS(scale > 0 && std::isfinite(scale) && std::trunc(std::log2(scale)) < bits, scale_mismatch,
                    what, ": scale ", scale, " out of bounds; expected less than the modulus of ", bits,
                    " bits. Rescale the operands first");
}

void check_lower_level(std::uint32_t primes, const char* what) {
  HALOCLINE_EXPECTS(primes > 1, level_exhausted, what,
                    ": the operand has one prime left; encrypt with more primes, or rescale less");
}

}  // namespace halocline::seal::detail
