// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "halocline/backend/matrix_jobs.hpp"

/// Products of matrices of polynomial pairs: parameter block and body of the kernel.
namespace halocline::backend::cuda {

/// One job. A thread takes one pack of words of one prime, for the entries of a tile of c.
template <typename WordT>
struct matrix_params {
  const WordT* a;
  const WordT* b;
  WordT* c;
  const modulus<WordT>* moduli;  ///< of the first prime
  std::uint32_t rows, inner, columns, primes, words;
  std::uint32_t tile;          ///< rows, and columns, of a tile
  std::uint32_t column_tiles;  ///< tiles side by side
  bool accumulate;
};

/// Words that other blocks, or the same thread again, read too: from the first-level cache.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<WordT> load_shared_words(const WordT* at) {
  pack<WordT> value;
#if defined(__CUDA_ARCH__)
  const uint4 raw = *reinterpret_cast<const uint4*>(at);
  memcpy(&value, &raw, sizeof(value));
#else
  std::memcpy(&value, at, sizeof(value));
#endif
  return value;
}

/// Sums of products of one entry.
template <typename WordT>
struct matrix_sums {
  double_word<WordT> d[3][pack<WordT>::size] = {};

  HALOCLINE_HOST_DEVICE void add(const pack<WordT>& a0, const pack<WordT>& a1, const pack<WordT>& b0,
                                 const pack<WordT>& b1) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < pack<WordT>::size; ++i) {
      using wide = double_word<WordT>;
      d[0][i] += static_cast<wide>(a0.word[i]) * b0.word[i];
      d[1][i] += static_cast<wide>(a0.word[i]) * b1.word[i] + static_cast<wide>(a1.word[i]) * b0.word[i];
      d[2][i] += static_cast<wide>(a1.word[i]) * b1.word[i];
    }
  }
  HALOCLINE_HOST_DEVICE void normalise_all(const modulus<WordT>& q) {
    HALOCLINE_UNROLL
    for (unsigned k = 0; k < 3; ++k) {
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < pack<WordT>::size; ++i) d[k][i] = normalise<WordT>(d[k][i], q);
    }
  }
};

/// Adds the sums to an entry, or stores them. `few`: at most two products each, which one Barrett reduction
/// takes.
template <bool few, typename WordT>
HALOCLINE_HOST_DEVICE inline void matrix_finish(const matrix_params<WordT>& p, WordT* to, std::size_t poly,
                                                const matrix_sums<WordT>& sums, const modulus<WordT>& q) {
  const cache_policy once = make_policy(cache_hint::evict_first);
  HALOCLINE_UNROLL
  for (unsigned k = 0; k < 3; ++k) {
    pack<WordT> result{};
    if (p.accumulate) result = load<WordT>(to + k * poly, once);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < pack<WordT>::size; ++i) {
      const WordT sum = few ? arith::reduce<WordT>(sums.d[k][i], q) : reduce_wide<WordT>(sums.d[k][i], q);
      result.word[i] = subtract_once<WordT>(result.word[i] + sum, q.value);
    }
    store<WordT>(to + k * poly, result, once);
  }
}

/// `single`: one product of pairs for each entry.
template <bool single, typename WordT>
HALOCLINE_HOST_DEVICE inline void matrix_body(const matrix_params<WordT>& p, const coordinates& at,
                                              std::uint32_t tile) {
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * pack<WordT>::size;
  if (index >= p.words) return;
  const modulus<WordT> q = p.moduli[at.block_y];
  const std::size_t poly = static_cast<std::size_t>(p.primes) * p.words;
  const std::size_t word = static_cast<std::size_t>(at.block_y) * p.words + index;
  const std::uint32_t top = tile / p.column_tiles * p.tile, left = tile % p.column_tiles * p.tile;
  const std::uint32_t bottom = top + p.tile < p.rows ? top + p.tile : p.rows;
  const std::uint32_t right = left + p.tile < p.columns ? left + p.tile : p.columns;
  for (std::uint32_t i = top; i < bottom; ++i) {
    const WordT* const a = p.a + static_cast<std::size_t>(i) * p.inner * 2 * poly + word;
    const pack<WordT> first0 = load_shared_words(a), first1 = load_shared_words(a + poly);
    for (std::uint32_t j = left; j < right; ++j) {
      const WordT* b = p.b + static_cast<std::size_t>(j) * 2 * poly + word;
      matrix_sums<WordT> sums;
      sums.add(first0, first1, load_shared_words(b), load_shared_words(b + poly));
      if constexpr (!single) {
        for (std::uint32_t t = 1; t < p.inner; ++t) {
          b += static_cast<std::size_t>(p.columns) * 2 * poly;
          const WordT* const at_t = a + static_cast<std::size_t>(t) * 2 * poly;
          sums.add(load_shared_words(at_t), load_shared_words(at_t + poly), load_shared_words(b),
                   load_shared_words(b + poly));
          if (t % 2 != 0) sums.normalise_all(q);  // at most four products since then, in the middle sum
        }
        sums.normalise_all(q);
      }
      const std::size_t entry = static_cast<std::size_t>(i) * p.columns + j;
      matrix_finish<single>(p, p.c + entry * 3 * poly + word, poly, sums, q);
    }
  }
}

}  // namespace halocline::backend::cuda
