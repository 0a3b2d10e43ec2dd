// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/cpu/kernel_set.hpp"
#include "halocline/arith/arith.hpp"

/// Specification of the negacyclic NTT: radix-2 with merged powers of psi (Longa and Naehrig, "Speeding up
/// the number theoretic transform for faster ideal lattice-based cryptography", 2016, algorithms 1 and 2).
namespace halocline::backend::cpu::scalar {

template <typename WordT>
void ntt(WordT* dst, const WordT* src, const prime_tables<WordT>& tables) {
  const auto& q = *tables.q;
  const std::size_t n = std::size_t{1} << tables.log_n;
  if (dst != src) {
    for (std::size_t i = 0; i < n; ++i) dst[i] = src[i];
  }
  for (std::size_t groups = 1, half = n / 2; groups < n; groups *= 2, half /= 2) {
    for (std::size_t g = 0; g < groups; ++g) {
      const WordT w = tables.roots[groups + g];
      const WordT w_quotient = tables.root_quotients[groups + g];
      WordT* const low = dst + 2 * g * half;
      WordT* const high = low + half;
      for (std::size_t i = 0; i < half; ++i) {
        const WordT x = low[i];
        const WordT y = arith::mul_shoup(high[i], w, w_quotient, q);
        low[i] = arith::add_mod(x, y, q);
        high[i] = arith::sub_mod(x, y, q);
      }
    }
  }
}

template <typename WordT>
void intt(WordT* dst, const WordT* src, const prime_tables<WordT>& tables) {
  const auto& q = *tables.q;
  const std::size_t n = std::size_t{1} << tables.log_n;
  if (dst != src) {
    for (std::size_t i = 0; i < n; ++i) dst[i] = src[i];
  }
  for (std::size_t groups = n / 2, half = 1; groups >= 1; groups /= 2, half *= 2) {
    for (std::size_t g = 0; g < groups; ++g) {
      const WordT w = tables.inverse_roots[groups + g];
      const WordT w_quotient = tables.inverse_root_quotients[groups + g];
      WordT* const low = dst + 2 * g * half;
      WordT* const high = low + half;
      for (std::size_t i = 0; i < half; ++i) {
        const WordT x = low[i];
        const WordT y = high[i];
        low[i] = arith::add_mod(x, y, q);
        high[i] = arith::mul_shoup(arith::sub_mod(x, y, q), w, w_quotient, q);
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    dst[i] = arith::mul_shoup(dst[i], tables.inverse_roots[0], tables.inverse_root_quotients[0], q);
  }
}

}  // namespace halocline::backend::cpu::scalar
