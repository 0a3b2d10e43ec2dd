// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "halocline/arith/slot_fft.hpp"

/// Coefficients between doubles, integers and residues, one at a time: the definition that every backend's
/// `round_coefficients` and `lift` equal, bit by bit.
namespace halocline::arith {

/// factor * x, rounded to a double and then to an integer, ties to even.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline double rounded_coefficient(double x, double factor) {
#if defined(__CUDA_ARCH__)
  return rint(__dmul_rn(x, factor));
#else
  return std::nearbyint(x * factor);
#endif
}

/// Two words of a signed integer, low word first, two's complement.
struct wide_coefficient {
  std::uint64_t low, high;
};

/// A whole double of magnitude below 2^127 as an integer.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline wide_coefficient to_wide(double whole) {
#if defined(__CUDA_ARCH__)
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(whole));
#else
  const auto bits = std::bit_cast<std::uint64_t>(whole);
#endif
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;  // of the last bit of the significand
  if (exponent < -52) return {0, 0};
  const std::uint64_t significand = (bits & 0xfffffffffffffU) | 0x10000000000000U;
  wide_coefficient magnitude{0, 0};
  if (exponent <= 0) {
    magnitude.low = significand >> -exponent;
  } else if (exponent < 64) {
    magnitude = {significand << exponent, significand >> (64 - exponent)};
  } else {
    magnitude.high = significand << (exponent - 64);
  }
  if (bits >> 63 == 0) return magnitude;
  const std::uint64_t low = 0 - magnitude.low;
  return {low, ~magnitude.high + (low == 0 ? 1 : 0)};
}

/// Constants that eliminate mixed radix digit j from residue i: (x + offset - v_j) / q_j mod q_i.
template <typename WordT>
struct elimination {
  WordT offset;  ///< a multiple of q_i that keeps the difference positive
  WordT inverse;
  WordT quotient;
};

/// Constants before those of residue i in a table, which has them for (1, 0), (2, 0), (2, 1), (3, 0), ...
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t elimination_offset(std::size_t i) {
  return i * (i - 1) / 2;
}

/// Residue i after digit j, a balanced digit in two's complement, has been eliminated.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT eliminate(WordT x, WordT digit,
                                                              const elimination<WordT>& by,
                                                              const modulus<WordT>& q) {
  return mul_shoup(static_cast<WordT>(x + by.offset - digit), by.inverse, by.quotient, q);
}

/// The representative of a residue in (-q/2, q/2), two's complement.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT balanced_digit(WordT x, const modulus<WordT>& q) {
  return x - (x > q.value / 2 ? q.value : WordT{0});
}

/// value * q + digit, each step rounded: one step of Horner's rule.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline double append_digit(double value, WordT digit, WordT q) {
  return rounded_sum(rounded_product(value, static_cast<double>(q)),
                     static_cast<double>(static_cast<std::make_signed_t<WordT>>(digit)));
}

/// Value of the coefficient of limbs words[0], words[step], ..., words[(count - 1) step], whose first prime
/// is that of moduli[0], divided by `scale`; x = v_0 + q_0 (v_1 + q_1 (v_2 + ...)) with |v_i| < q_i / 2,
/// where q_0 is the LAST prime. The digits replace the residues. `top` becomes v_(count - 1).
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline double lifted_coefficient(WordT* words, std::size_t step,
                                                                     std::size_t count,
                                                                     const modulus<WordT>* moduli,
                                                                     const elimination<WordT>* table,
                                                                     double scale, WordT& top) {
  for (std::size_t i = 0; i < count; ++i) {
    const modulus<WordT> q = moduli[count - 1 - i];
    WordT x = words[(count - 1 - i) * step];
    for (std::size_t j = 0; j < i; ++j) {
      x = eliminate(x, words[(count - 1 - j) * step], table[elimination_offset(i) + j], q);
    }
    top = balanced_digit(x, q);
    words[(count - 1 - i) * step] = top;
  }
  double value = 0.0;
  for (std::size_t i = count; i-- > 0;) {
    value = append_digit(value, words[(count - 1 - i) * step], moduli[count - 1 - i].value);
  }
#if defined(__CUDA_ARCH__)
  return __ddiv_rn(value, scale);
#else
  return value / scale;
#endif
}

}  // namespace halocline::arith
