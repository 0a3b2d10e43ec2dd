// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace halocline::ckks {

/// A complex number without the overflow rules of std::complex, which keep loops from being vectorised.
struct fft_point {
  double re, im;
};

/// Twiddle factors of one block of a radix-4 pass: w, w^2 and w^3, with s = w^2 for the block and w for its
/// left half.
struct fft_factors {
  fft_point w1, w2, w3;
};

/// Transform between the n complex slots and the 2n real coefficients a_0 .. a_{2n-1} of a polynomial in Y,
/// Y^(2n) = -1. Slot k is the value at zeta^(g^k), zeta = exp(2 pi i / 4n), g the Galois generator.
///
/// At every point x = zeta^e with e = 1 mod 4, x^n = i, so the real polynomial has the value of the complex
/// polynomial C(x) = sum_{j<n} (a_j + i a_{j+n}) x^j modulo x^n - i. That modulus splits like in a
/// number-theoretic transform, x^m - s^2 = (x^(m/2) - s)(x^(m/2) + s), down to x - zeta^(1 + 4 bitrev(p)) in
/// place p. A slot whose exponent is 3 mod 4 (generator 3 has them) is the conjugate of the value at the
/// negated exponent. Real and imaginary parts are kept apart, so that compilers vectorise the passes.
class slot_transform {
 public:
  /// @param slots n, a power of two
  /// @param generator g, 3 or 5
  slot_transform(std::uint32_t slots, unsigned generator);

  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }

  /// Coefficients of the polynomial with `values` in its slots, multiplied by n: 2n of them.
  /// @param values at most n; the missing ones are 0
  /// @param coefficients 2n places
  void to_coefficients(std::span<const std::complex<double>> values, std::span<double> coefficients) const;

  /// Slots of the polynomial with these 2n coefficients, which are destroyed.
  void to_slots(std::span<double> coefficients, std::span<std::complex<double>> values) const;

 private:
  /// Splits each of `factors.size()` blocks into four.
  struct pass {
    std::vector<fft_factors> factors;
    std::size_t quarter;  ///< length of a part after the pass
  };

  void forward(double* re, double* im) const;
  void inverse(double* re, double* im) const;

  std::uint32_t slots_;
  bool odd_;  ///< log2(n) is odd: one radix-2 pass comes first
  std::vector<pass> passes_;
  std::vector<std::uint32_t> place_;  ///< of slot k: 2 p, plus 1 when the value is to be conjugated
};

}  // namespace halocline::ckks
