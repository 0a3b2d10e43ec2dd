// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/arith.hpp"

/// The transform between slots and coefficients in double precision: the definition that every backend's
/// `slot_transform` equals, bit by bit. Every product and sum is rounded on its own: a fused multiply-add
/// would round differently, and encoded integers with it. `ckks/encoder_fft.hpp` says what it computes.
///
/// A table for n slots is n / 3 (rounded) sets of factors, those of the radix-4 passes in the order of the
/// forward transform, block by block, followed by n places of 32 bits: slot k is point places[k] / 2, and
/// conjugated when places[k] is odd. Points are kept as n real parts followed by n imaginary parts.
namespace halocline::arith {

/// Sums and products that are rounded once each.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline double rounded_sum(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
[[nodiscard]] HALOCLINE_HOST_DEVICE inline double rounded_difference(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dsub_rn(a, b);
#else
  return a - b;
#endif
}
[[nodiscard]] HALOCLINE_HOST_DEVICE inline double rounded_product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// A complex number without the overflow rules of std::complex, which keep loops from being vectorised.
struct fft_point {
  double re, im;
};

/// Sum.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_point operator+(fft_point a, fft_point b) {
  return {rounded_sum(a.re, b.re), rounded_sum(a.im, b.im)};
}
/// Difference.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_point operator-(fft_point a, fft_point b) {
  return {rounded_difference(a.re, b.re), rounded_difference(a.im, b.im)};
}
/// Product, schoolbook.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_point operator*(fft_point a, fft_point b) {
  return {rounded_difference(rounded_product(a.re, b.re), rounded_product(a.im, b.im)),
          rounded_sum(rounded_product(a.re, b.im), rounded_product(a.im, b.re))};
}
/// i a.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_point times_i(fft_point a) { return {-a.im, a.re}; }
/// Complex conjugate.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_point conjugate(fft_point a) { return {a.re, -a.im}; }

/// Twiddle factors of one block of a radix-4 pass: w, w^2 and w^3, with s = w^2 for the block and w for its
/// left half.
struct fft_factors {
  fft_point w1, w2, w3;
};

/// s of the split of x^n - i itself: exp(pi i / 4).
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_point first_fft_factor() {
  return {0.70710678118654757, 0.70710678118654757};
}

/// Corresponding points of the four quarters of a block.
struct fft_quad {
  fft_point c0, c1, c2, c3;
};

/// C modulo x^(4q) - w^4 to its residues modulo x^q - w, x^q + w, x^q - i w, x^q + i w.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_quad fft_split(const fft_quad& in, const fft_factors& w) {
  const fft_point b1 = in.c1 * w.w1;
  const fft_point b2 = in.c2 * w.w2;
  const fft_point b3 = in.c3 * w.w3;
  const fft_point left = in.c0 + b2;
  const fft_point right = in.c0 - b2;
  const fft_point sum = b1 + b3;
  const fft_point turned = times_i(b1 - b3);
  return {left + sum, left - sum, right + turned, right - turned};
}

/// Inverse of `fft_split`, times four.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_quad fft_join(const fft_quad& in, const fft_factors& w) {
  const fft_point left = in.c0 + in.c1;
  const fft_point right = in.c2 + in.c3;
  const fft_point gap = in.c0 - in.c1;
  const fft_point turned = times_i(in.c2 - in.c3);
  return {left + right, (gap - turned) * conjugate(w.w1), (left - right) * conjugate(w.w2),
          (gap + turned) * conjugate(w.w3)};
}

/// Corresponding points of two halves.
struct fft_pair {
  fft_point low, high;
};

/// The radix-2 pass that comes first where log2(n) is odd, and its inverse (times two).
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_pair fft_split_first(const fft_pair& in) {
  const fft_point turned = in.high * first_fft_factor();
  return {in.low + turned, in.low - turned};
}
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fft_pair fft_join_first(const fft_pair& in) {
  return {in.low + in.high, (in.low - in.high) * conjugate(first_fft_factor())};
}

/// Sets of factors of the passes before depth `depth` (the number of halvings done), n = 2^log_slots.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t fft_factor_offset(unsigned log_slots,
                                                                            unsigned depth) {
  return ((std::size_t{1} << depth) - (std::size_t{1} << (log_slots % 2))) / 3;
}
/// Sets of factors of a table.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t fft_factor_count(unsigned log_slots) {
  return fft_factor_offset(log_slots, log_slots);
}
/// Bytes of a table.
[[nodiscard]] constexpr std::size_t slot_table_bytes(unsigned log_slots) {
  return fft_factor_count(log_slots) * sizeof(fft_factors) + (sizeof(std::uint32_t) << log_slots);
}
/// Places within a table that begins with `factors`.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline const std::uint32_t* slot_places(const fft_factors* factors,
                                                                            unsigned log_slots) {
  return reinterpret_cast<const std::uint32_t*>(factors + fft_factor_count(log_slots));
}

}  // namespace halocline::arith
