// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/scalar_ntt.hpp"
#include "halocline/arith/arith.hpp"

/// Specification of the operations that treat every coefficient or evaluation on its own.
namespace halocline::backend::cpu::scalar {

using arith::modulus;

template <typename WordT>
void add(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::add_mod(a[i], b[i], q);
}

template <typename WordT>
void sub(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::sub_mod(a[i], b[i], q);
}

template <typename WordT>
void negate(WordT* dst, const WordT* src, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::negate_mod(src[i], q);
}

template <typename WordT>
void multiply(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::mul_mod(a[i], b[i], q);
}

template <typename WordT>
void multiply_add(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::add_mod(dst[i], arith::mul_mod(a[i], b[i], q), q);
}

template <typename WordT>
void scalar_multiply(WordT* dst, const WordT* src, WordT factor, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::mul_mod(src[i], factor, q);
}

template <typename WordT>
void scalar_add(WordT* dst, const WordT* src, WordT summand, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = arith::add_mod(src[i], summand, q);
}

template <typename WordT>
void linear_combine(WordT* dst, const WordT* a, const WordT* b, WordT factor_a, WordT factor_b,
                    std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) {
    dst[i] = arith::add_mod(arith::mul_mod(a[i], factor_a, q), arith::mul_mod(b[i], factor_b, q), q);
  }
}

template <typename WordT>
void ntt_linear_combine(WordT* dst, const WordT* a, WordT* b, WordT factor_a, WordT factor_b,
                        const prime_tables<WordT>& tables) {
  ntt(b, static_cast<const WordT*>(b), tables);
  linear_combine(dst, a, static_cast<const WordT*>(b), factor_a, factor_b, std::size_t{1} << tables.log_n,
                 *tables.q);
}

template <typename WordT>
void ntt_reduced(WordT* dst, const WordT* src, const WordT* a, WordT factor_a, WordT factor_b,
                 const reduction<WordT>& from, const prime_tables<WordT>& tables) {
  const auto& q = *tables.q;
  const WordT one_quotient = arith::shoup_quotient<WordT>(1, q);
  const WordT wrapped = static_cast<WordT>(from.source % q.value);
  const std::size_t n = std::size_t{1} << tables.log_n;
  for (std::size_t i = 0; i < n; ++i) {
    const WordT x = arith::mul_shoup<WordT>(src[i], 1, one_quotient, q);
    const bool negative = from.centred && src[i] > from.source / 2;
    dst[i] = negative ? arith::sub_mod(x, wrapped, q) : x;
  }
  ntt(dst, static_cast<const WordT*>(dst), tables);
  if (a != nullptr) linear_combine(dst, a, static_cast<const WordT*>(dst), factor_a, factor_b, n, q);
}

template <typename WordT>
void dot(WordT* dst, const WordT* const* a, const WordT* const* b, const std::uint8_t* repeats,
         std::size_t terms, bool accumulate, std::size_t offset, std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = offset; i < offset + count; ++i) {
    WordT sum = accumulate ? dst[i] : WordT{0};
    for (std::size_t t = 0; t < terms; ++t) {
      sum = arith::add_mod(sum, arith::mul_mod(a[t][i], b[t][i >> repeats[t]], q), q);
    }
    dst[i] = sum;
  }
}

template <typename WordT>
void tensor(WordT* const* d, const WordT* const* a, const WordT* const* b, std::size_t offset,
            std::size_t count, const modulus<WordT>& q) {
  for (std::size_t i = offset; i < offset + count; ++i) {
    const WordT a0 = a[0][i], a1 = a[1][i], b0 = b[0][i], b1 = b[1][i];
    d[0][i] = arith::mul_mod(a0, b0, q);
    d[1][i] = arith::add_mod(arith::mul_mod(a0, b1, q), arith::mul_mod(a1, b0, q), q);
    d[2][i] = arith::mul_mod(a1, b1, q);
  }
}

template <typename WordT>
void automorphism(WordT* dst, const WordT* src, const std::uint32_t* permutation, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = src[permutation[i]];
}

/// Words of `range` of X^exponent * src modulo X^N + 1; both pointers address the first word of a limb.
template <typename WordT>
void negacyclic_shift(WordT* dst, const WordT* src, std::size_t exponent, std::size_t n, word_range range,
                      const modulus<WordT>& q) {
  for (std::size_t i = range.begin; i < range.begin + range.count; ++i) {
    const std::size_t from = (i + 2 * n - exponent) % (2 * n);  // X^from: from N on, -X^(from - N)
    dst[i] = from < n ? src[from] : arith::negate_mod(src[from - n], q);
  }
}

}  // namespace halocline::backend::cpu::scalar
