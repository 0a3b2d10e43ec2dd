// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/encoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "halocline/arith/arith.hpp"
#include "halocline/arith/coefficient_math.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::seal {
namespace {

using arith::fft_point;
using wide_modulus = arith::modulus<std::uint64_t>;

/// exp(2 pi i numerator / denominator), rounded.
fft_point unit(std::uint64_t numerator, std::uint64_t denominator) {
  const long double angle = 2.0L * std::numbers::pi_v<long double> * static_cast<long double>(numerator) /
                            static_cast<long double>(denominator);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

/// Powers of two modulo a prime.
std::vector<std::uint64_t> powers_of_two(int count, const wide_modulus& q) {
  std::vector<std::uint64_t> made(static_cast<std::size_t>(count) + 1, 1 % q.value);
  for (std::size_t i = 1; i < made.size(); ++i) made[i] = arith::add_mod(made[i - 1], made[i - 1], q);
  return made;
}

/// A whole number as significand * 2^shift.
struct whole_number {
  std::uint64_t significand;
  int shift;
  bool negative;
};

whole_number split(double whole) {
  const double magnitude = std::abs(whole);
  if (magnitude < 0x1p63) return {static_cast<std::uint64_t>(magnitude), 0, whole < 0};
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // a double has 53 bits
  return {static_cast<std::uint64_t>(std::ldexp(fraction, 53)), exponent - 53, whole < 0};
}

/// Constants of `arith::lifted_coefficient` for primes whose last one comes first.
std::vector<arith::elimination<std::uint64_t>> eliminations(std::span<const std::uint64_t> primes) {
  std::vector<arith::elimination<std::uint64_t>> made;
  const std::size_t count = primes.size();
  for (std::size_t i = 1; i < count; ++i) {
    const wide_modulus q = arith::make_modulus(primes[count - 1 - i]);
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t other = primes[count - 1 - j];
      const std::uint64_t inverse = arith::inverse_mod(other % q.value, q);
      const std::uint64_t offset = (other / 2 / q.value + 1) * q.value;
      made.push_back({offset, inverse, arith::shoup_quotient(inverse, q)});
    }
  }
  return made;
}

}  // namespace

// With n = N/2, the real polynomial has at every x = zeta^e, e = 1 mod 4, the value of the complex one with
// coefficients a_j + i a_(j+n) modulo x^n - i. That modulus splits like in a number-theoretic transform,
// x^m - s^2 = (x^(m/2) - s)(x^(m/2) + s). Exponents 3 mod 4 belong to conjugates.
encoder::encoder(std::uint64_t n) : n_(n) {
  HALOCLINE_EXPECTS(std::has_single_bit(n) && n >= 2 && n <= (std::uint64_t{1} << 17), invalid_argument,
                    "encoder: ring degree ", n, "; expected a power of two from 2 to 131072");
  const std::uint64_t slots = n / 2;
  const auto log_slots = static_cast<unsigned>(std::countr_zero(slots));
  roots_.resize(slots);
  for (unsigned depth = 0; depth < log_slots; ++depth) {
    for (std::uint32_t p = 0; p < (1U << depth); ++p) {
      const std::uint64_t turn = 1 + 4 * std::uint64_t{ring::bit_reverse(p, depth)};
      roots_[(std::size_t{1} << depth) + p] = unit(turn, std::uint64_t{8} << depth);
    }
  }
  std::uint64_t exponent = 1;
  for (std::uint64_t k = 0; k < slots; ++k) {
    const bool mirrored = exponent % 4 == 3;
    const std::uint64_t first = mirrored ? 2 * n - exponent : exponent;
    const std::uint32_t p = ring::bit_reverse(static_cast<std::uint32_t>(first / 4), log_slots);
    places_.push_back(2 * p + (mirrored ? 1 : 0));
    exponent = exponent * 3 % (2 * n);
  }
}

std::vector<double> encoder::to_coefficients(std::span<const std::complex<double>> values,
                                             double scale) const {
  const std::size_t slots = places_.size();
  HALOCLINE_EXPECTS(values.size() <= slots, invalid_argument, "encode: ", values.size(),
                    " values; the ring has ", slots, " slots");
  std::vector<fft_point> points(slots);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const bool mirrored = places_[k] % 2 == 1;
    points[places_[k] / 2] = {values[k].real(), mirrored ? -values[k].imag() : values[k].imag()};
  }
  for (std::size_t half = 1, blocks = slots / 2; half < slots; half *= 2, blocks /= 2) {
    for (std::size_t p = 0; p < blocks; ++p) {
      const fft_point root = arith::conjugate(roots_[blocks + p]);
      fft_point* const low = points.data() + 2 * half * p;
      for (std::size_t j = 0; j < half; ++j) {
        const fft_point a = low[j], b = low[half + j];
        low[j] = a + b;
        low[half + j] = (a - b) * root;
      }
    }
  }
  const double factor = scale / static_cast<double>(slots);
  std::vector<double> made(n_);
  for (std::size_t j = 0; j < slots; ++j) {
    made[j] = points[j].re * factor;
    made[slots + j] = points[j].im * factor;
  }
  return made;
}

std::vector<std::complex<double>> encoder::to_slots(std::span<const double> coefficients) const {
  HALOCLINE_EXPECTS(coefficients.size() == n_, invalid_argument, "decode: ", coefficients.size(),
                    " coefficients; expected ", n_);
  const std::size_t slots = places_.size();
  std::vector<fft_point> points(slots);
  for (std::size_t j = 0; j < slots; ++j) points[j] = {coefficients[j], coefficients[slots + j]};
  for (std::size_t half = slots / 2, blocks = 1; half > 0; half /= 2, blocks *= 2) {
    for (std::size_t p = 0; p < blocks; ++p) {
      const fft_point root = roots_[blocks + p];
      fft_point* const low = points.data() + 2 * half * p;
      for (std::size_t j = 0; j < half; ++j) {
        const fft_point a = low[j], b = low[half + j] * root;
        low[j] = a + b;
        low[half + j] = a - b;
      }
    }
  }
  std::vector<std::complex<double>> made(slots);
  for (std::size_t k = 0; k < slots; ++k) {
    const fft_point at = points[places_[k] / 2];
    made[k] = {at.re, places_[k] % 2 == 1 ? -at.im : at.im};
  }
  return made;
}

void to_residues(std::span<const double> numbers, std::span<const std::uint64_t> primes,
                 std::span<std::uint64_t> words) {
  HALOCLINE_EXPECTS(words.size() == numbers.size() * primes.size(), invalid_argument,
                    "to_residues: ", words.size(), " words for ", numbers.size(), " numbers and ",
                    primes.size(), " primes");
  std::vector<whole_number> parts;
  parts.reserve(numbers.size());
  int most = 0;
  for (const double number : numbers) {
    HALOCLINE_EXPECTS(std::isfinite(number), invalid_argument, "encode: a coefficient is ", number,
                      "; expected finite numbers");
    parts.push_back(split(std::round(number)));
    most = std::max(most, parts.back().shift);
  }
  std::uint64_t* to = words.data();
  for (const std::uint64_t prime : primes) {
    const wide_modulus q = arith::make_modulus(prime);
    const std::uint64_t quotient = arith::shoup_quotient<std::uint64_t>(1, q);
    const std::vector<std::uint64_t> powers = powers_of_two(most, q);
    for (const whole_number& part : parts) {
      std::uint64_t residue = arith::mul_shoup<std::uint64_t>(part.significand, 1, quotient, q);
      if (part.shift > 0) {
        residue = arith::mul_mod(residue, powers[static_cast<std::size_t>(part.shift)], q);
      }
      *to++ = part.negative ? arith::negate_mod(residue, q) : residue;
    }
  }
}

std::vector<double> from_residues(std::span<std::uint64_t> words, std::span<const std::uint64_t> primes,
                                  double scale) {
  HALOCLINE_EXPECTS(!primes.empty() && words.size() % primes.size() == 0, invalid_argument,
                    "from_residues: ", words.size(), " words for ", primes.size(), " primes");
  const std::size_t count = words.size() / primes.size();
  const std::vector<arith::elimination<std::uint64_t>> table = eliminations(primes);
  std::vector<wide_modulus> moduli;
  for (const std::uint64_t prime : primes) moduli.push_back(arith::make_modulus(prime));
  std::vector<double> made(count);
  std::uint64_t top = 0;
  for (std::size_t j = 0; j < count; ++j) {
    made[j] = arith::lifted_coefficient(words.data() + j, count, primes.size(), moduli.data(), table.data(),
                                        scale, top);
  }
  return made;
}

}  // namespace halocline::seal
