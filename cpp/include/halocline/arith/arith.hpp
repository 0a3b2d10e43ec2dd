// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/arith/modulus.hpp"

/// Marks functions that nvcc must compile for the device as well.
#if defined(__CUDACC__)
#define HALOCLINE_HOST_DEVICE __host__ __device__
#else
#define HALOCLINE_HOST_DEVICE
#endif

/// Element-level modular arithmetic shared by every backend: this file is the specification that SIMD and
/// device kernels must equal. Unless a comment says otherwise, operands and results lie in [0, q).
namespace halocline::arith {

/// a + b mod q.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT add_mod(WordT a, WordT b, const modulus<WordT>& q) {
  const WordT sum = a + b;
  return sum >= q.value ? sum - q.value : sum;
}

/// a - b mod q.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT sub_mod(WordT a, WordT b, const modulus<WordT>& q) {
  return a >= b ? a - b : a + q.value - b;
}

/// -a mod q.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT negate_mod(WordT a, const modulus<WordT>& q) {
  return a == 0 ? WordT{0} : q.value - a;
}

/// z mod q for z < q * 2^bits (Barrett; the quotient estimate is at most two too small).
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT reduce(double_word<WordT> z, const modulus<WordT>& q) {
  using wide = double_word<WordT>;
  const wide estimate =
      (static_cast<wide>(static_cast<WordT>(z >> (q.bits - 1))) * q.barrett) >> (q.bits + 1);
  WordT rest = static_cast<WordT>(z) - static_cast<WordT>(estimate) * q.value;
  if (rest >= 2 * q.value) rest -= 2 * q.value;
  return rest >= q.value ? rest - q.value : rest;
}

/// a * b mod q.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT mul_mod(WordT a, WordT b, const modulus<WordT>& q) {
  return reduce<WordT>(static_cast<double_word<WordT>>(a) * b, q);
}

/// floor(w * 2^wordbits / q): the precomputed quotient that goes with a constant factor w < q (Shoup).
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT shoup_quotient(WordT w, const modulus<WordT>& q) {
  return static_cast<WordT>((static_cast<double_word<WordT>>(w) << (8 * sizeof(WordT))) / q.value);
}

/// x * w mod q in [0, 2q) for any word x and a constant w with its Shoup quotient.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT mul_shoup_lazy(WordT x, WordT w, WordT w_quotient,
                                                                   const modulus<WordT>& q) {
  const WordT estimate =
      static_cast<WordT>((static_cast<double_word<WordT>>(x) * w_quotient) >> (8 * sizeof(WordT)));
  return x * w - estimate * q.value;
}

/// x * w mod q for any word x and a constant w with its Shoup quotient.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT mul_shoup(WordT x, WordT w, WordT w_quotient,
                                                              const modulus<WordT>& q) {
  const WordT lazy = mul_shoup_lazy(x, w, w_quotient, q);
  return lazy >= q.value ? lazy - q.value : lazy;
}

/// z * 2^-wordbits mod q for z < q * 2^wordbits (Montgomery).
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT montgomery_reduce(double_word<WordT> z,
                                                                      const modulus<WordT>& q) {
  const WordT m = static_cast<WordT>(z) * q.neg_inv;
  const WordT lazy =
      static_cast<WordT>((z + static_cast<double_word<WordT>>(m) * q.value) >> (8 * sizeof(WordT)));
  return lazy >= q.value ? lazy - q.value : lazy;
}

/// base^exponent mod q.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT pow_mod(WordT base, std::uint64_t exponent,
                                                            const modulus<WordT>& q) {
  WordT result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = mul_mod(result, base, q);
    base = mul_mod(base, base, q);
  }
  return result;
}

/// a^-1 mod q for a prime q and a != 0 (Fermat).
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT inverse_mod(WordT a, const modulus<WordT>& q) {
  return pow_mod(a, static_cast<std::uint64_t>(q.value) - 2, q);
}

/// Residue of a signed integer.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT signed_mod(std::int64_t x, const modulus<WordT>& q) {
  const std::int64_t rest = x % static_cast<std::int64_t>(q.value);
  return static_cast<WordT>(rest < 0 ? rest + static_cast<std::int64_t>(q.value) : rest);
}

}  // namespace halocline::arith
