// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/ntt_rounds.cuh"

/// Exchanges of a transform of 8 words of 32 bits per thread without padding and without bank conflicts: bits
/// 5 to 7 of the number of a word, in which the threads of a warp differ in the last two rounds, are added to
/// bits 2 to 4 of its place. Four neighbouring words stay together.
namespace halocline::backend::cuda {

[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t swizzled_place(std::uint32_t t) {
  return t ^ ((t >> 3) & 28U);
}

/// Place of a thread's word 0. Compilers would keep what follows from it in registers, for all rounds of all
/// transforms; it is made new each time.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t fresh_place(std::uint32_t t) {
  std::uint32_t place = swizzled_place(t);
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(place));
#endif
  return place;
}

/// That of its word `i`, 2^low words apart: bits in which a thread's words differ are zero in the number of
/// word 0.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t swizzled_place(std::uint32_t first, unsigned low,
                                                                        unsigned i) {
  const std::uint32_t other = swizzled_place(i << low);
  return low < 8 ? first ^ other : first + other;
}

/// Writes a thread's words, the first of which has the number `t`, `2^low` apart; neighbours 16 bytes at a
/// time.
HALOCLINE_HOST_DEVICE inline void put_swizzled(std::uint32_t* shared, std::uint32_t t, unsigned low,
                                               const std::uint32_t (&x)[8]) {
  const std::uint32_t first = fresh_place(t);
  if (low == 0) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 8; i += 4) {
      *reinterpret_cast<chunk<std::uint32_t>*>(shared + (first ^ i)) = {{x[i], x[i + 1], x[i + 2], x[i + 3]}};
    }
    return;
  }
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < 8; ++i) shared[swizzled_place(first, low, i)] = x[i];
}
/// Reads them.
HALOCLINE_HOST_DEVICE inline void get_swizzled(const std::uint32_t* shared, std::uint32_t t, unsigned low,
                                               std::uint32_t (&x)[8]) {
  const std::uint32_t first = fresh_place(t);
  if (low == 0) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 8; i += 4) {
      const auto in = read_chunk(reinterpret_cast<const chunk<std::uint32_t>*>(shared + (first ^ i)));
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) x[i + j] = in.word[j];
    }
    return;
  }
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < 8; ++i) x[i] = shared[swizzled_place(first, low, i)];
}

}  // namespace halocline::backend::cuda
