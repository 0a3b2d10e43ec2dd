// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/ntt_rounds.cuh"

/// Rounds of forward transforms that reduce words only when they would exceed 32 bits. A butterfly adds 2q to
/// the bound of its words, whatever it is: a product with a twiddle is below 2q for every word. Of the two
/// words of a butterfly one is reduced, because the other is multiplied.
namespace halocline::backend::cuda {

/// Bound of words, as a multiple of a prime q < 2^(32 - headroom). Known when compiling, where stages are
/// counted in unrolled loops.
template <unsigned headroom>
struct lazy_words {
  static constexpr std::uint32_t most = 1U << headroom;  ///< words below most q have room
  std::uint32_t q;
  std::uint32_t times = 1;  ///< words are below times q

  /// What one reduction may subtract: it brings words from below `most` q to below half of that, 2^31.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t step() const { return most / 2 * q; }
  /// Whether words are reduced before the next stage.
  [[nodiscard]] HALOCLINE_HOST_DEVICE bool full() const { return times + 2 > most; }
  HALOCLINE_HOST_DEVICE void pass(unsigned stages) {
    for (unsigned i = 0; i < stages; ++i) times = (full() ? most / 2 : times) + 2;
  }
};

/// Stage `j` of a round, as `forward_stage`.
template <unsigned e, unsigned j, unsigned headroom>
HALOCLINE_HOST_DEVICE inline void lazy_stage(std::uint32_t (&x)[1U << e],
                                             const twiddle_table<std::uint32_t>& at, std::uint32_t node,
                                             lazy_words<headroom>& words) {
  constexpr unsigned groups = 1U << j, half = 1U << (e - 1 - j);
  std::uint32_t w[groups], quotient[groups];
  read_twiddles<j>(w, quotient, at, node);
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < groups; ++h) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < half; ++i) {
      std::uint32_t& low = x[2 * h * half + i];
      std::uint32_t& high = x[2 * h * half + half + i];
      const std::uint32_t a = words.full() ? reduce_once<std::uint32_t>(low, words.step()) : low;
      const std::uint32_t b = mul_lazy(high, w[h], quotient[h], at.q);
      low = a + b;
      high = a + at.bound - b;
    }
  }
  words.pass(1);
}

/// The first `stages` stages of a round of three, as `forward_round`. @param words bound before the round
template <unsigned e, unsigned headroom>
HALOCLINE_HOST_DEVICE inline void lazy_round(std::uint32_t (&x)[1U << e],
                                             const twiddle_table<std::uint32_t>& at, std::uint32_t node,
                                             unsigned stages, lazy_words<headroom> words) {
  static_assert(e == 3);
  lazy_stage<e, 0>(x, at, node, words);
  if (stages > 1) lazy_stage<e, 1>(x, at, node, words);
  if (stages > 2) lazy_stage<e, 2>(x, at, node, words);
}

}  // namespace halocline::backend::cuda
