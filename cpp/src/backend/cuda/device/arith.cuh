// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/arith/arith.hpp"

/// Element arithmetic of kernels that `arith/arith.hpp` does not need: sums of products. Host and device.
namespace halocline::backend::cuda {

using arith::double_word;
using arith::modulus;

/// Number of products of two residues that add up to less than q * 2^wordbits, which is what a Montgomery
/// reduction takes: 4 for 30-bit primes in 32-bit words, 8 for 61-bit primes in 64-bit words.
template <typename WordT>
inline constexpr unsigned products_per_reduction = sizeof(WordT) == 4 ? 4 : 8;
/// Number of products that fit a double word: 16 and 64.
template <typename WordT>
inline constexpr unsigned products_per_sum = products_per_reduction<WordT>* products_per_reduction<WordT>;

/// x, or x - bound when x >= bound.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT subtract_once(WordT x, WordT bound) {
  const WordT less = x - bound;  // wraps to a large value when x < bound
  return less < x ? less : x;
}

/// Brings a sum of at most `products_per_sum` products into [0, q * 2^wordbits), without changing its
/// residue.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr double_word<WordT> normalise(double_word<WordT> sum,
                                                                           const modulus<WordT>& q) {
  constexpr unsigned w = 8 * sizeof(WordT);
  WordT high = static_cast<WordT>(sum >> w);
  if constexpr (sizeof(WordT) == 8) high = subtract_once<WordT>(high, 4 * q.value);
  high = subtract_once<WordT>(high, 2 * q.value);
  high = subtract_once<WordT>(high, q.value);
  return static_cast<double_word<WordT>>(high) << w | static_cast<WordT>(sum);
}

/// z mod q for z < q * 2^wordbits: two Montgomery reductions.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT reduce_wide(double_word<WordT> z,
                                                                const modulus<WordT>& q) {
  const WordT divided = arith::montgomery_reduce<WordT>(z, q);
  return arith::montgomery_reduce<WordT>(static_cast<double_word<WordT>>(divided) * q.r2, q);
}

/// (a b + c d) mod q with one reduction. The quotient estimate of a sum below 2^(2 bits + 1) is at most three
/// too small, so the rest is below 4q, which `arith::reduce` brings down as well.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT mul_mod_pair(WordT a, WordT b, WordT c, WordT d,
                                                                 const modulus<WordT>& q) {
  using wide = double_word<WordT>;
  return arith::reduce<WordT>(static_cast<wide>(a) * b + static_cast<wide>(c) * d, q);
}

/// A sum of products that is reduced as rarely as possible.
template <typename WordT>
struct product_sum {
  double_word<WordT> sum = 0;
  unsigned products = 0;  ///< upper bound of the sum, in products of two residues

  HALOCLINE_HOST_DEVICE constexpr void add(WordT a, WordT b, const modulus<WordT>& q) {
    if (products == products_per_sum<WordT>) {
      sum = normalise(sum, q);
      products = products_per_reduction<WordT>;
    }
    sum += static_cast<double_word<WordT>>(a) * b;
    ++products;
  }
  /// In [0, q * 2^wordbits).
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr double_word<WordT> normalised(const modulus<WordT>& q) const {
    return products > products_per_reduction<WordT> ? normalise(sum, q) : sum;
  }
};

}  // namespace halocline::backend::cuda
