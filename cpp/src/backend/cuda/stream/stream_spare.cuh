// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/stream/stream_tile.cuh"

/// `stream_rule::chacha8_spare`: groups of blocks share the words that replace rejected ones.
///
/// The tile holds whole groups. Half a warp draws one and lists its rejected words, in order. Then as few
/// warps as usually suffice draw the spare blocks of all groups at once, several attempts of each:
/// neighbouring lanes have the attempts of one group and count the accepted words before theirs.
namespace halocline::backend::cuda {

/// Groups of a tile.
inline constexpr std::uint32_t stream_groups = stream_blocks / arith::blocks_per_group;

template <typename WordT>
struct stream_tile<WordT, stream_rule::chacha8_spare> {
  pack<WordT> packs[stream_blocks * stream_packs];
  std::uint32_t missing[stream_groups];  ///< rejected words of a group
  /// Which words of its group they are.
  std::uint8_t place[stream_groups][arith::words_per_group<WordT>];
};
template <typename WordT>
using spare_tile = stream_tile<WordT, stream_rule::chacha8_spare>;

/// Lists the rejected words of block `j`, behind `before` of the blocks before it in its group.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void stream_list(spare_tile<WordT>& tile, std::uint32_t j,
                                              std::uint32_t rejected, std::uint32_t before) {
  constexpr auto blocks = static_cast<std::uint32_t>(arith::blocks_per_group);
  constexpr auto per_block = static_cast<std::uint32_t>(arith::words_per_block<WordT>);
  std::uint8_t* const place = tile.place[j / blocks];
  for (std::uint32_t word = j % blocks * per_block; rejected != 0; rejected >>= 1, ++word) {
#if defined(__CUDA_ARCH__)
    const std::uint32_t zeros = __ffs(static_cast<int>(rejected)) - 1;
    rejected >>= zeros;
    word += zeros;
#endif
    if ((rejected & 1) != 0) place[before++] = static_cast<std::uint8_t>(word);
  }
  if (j % blocks == blocks - 1) tile.missing[j / blocks] = before;
}

/// Attempts that are drawn at once for each group: 2, 4, 8 or 16, nearly always enough for a modulus of which
/// a group expects 16 (2^bits - q) / q spare blocks. All threads of a warp take part in them or none.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t stream_attempts(const stream_block<WordT>& from) {
  const WordT rejected = from.mask - from.q + 1, part = from.q / 32;  // 16 rejected / q against 1.5, 3 and 6
  return rejected < 3 * part ? 2 : rejected < 6 * part ? 4 : rejected < 12 * part ? 8 : 16;
}

/// Puts the accepted words of a spare block, which are `before` and following of its group, where they
/// belong.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void stream_place(spare_tile<WordT>& tile, std::uint32_t group,
                                               std::uint32_t before, const stream_candidates<WordT>& drawn) {
  constexpr unsigned size = pack<WordT>::size;
  constexpr auto blocks = static_cast<std::uint32_t>(arith::blocks_per_group);
  constexpr auto per_block = static_cast<std::uint32_t>(arith::words_per_block<WordT>);
  const std::uint32_t missing = tile.missing[group];
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < per_block; ++i) {
    if ((drawn.rejected >> i & 1) != 0) continue;
    if (before < missing) {
      const std::uint32_t word = tile.place[group][before];
      const std::uint32_t j = group * blocks + word / per_block, within = word % per_block;
      tile.packs[stream_slot(j, within / size)].word[within % size] = drawn.packs[i / size].word[i % size];
    }
    ++before;
  }
}

/// Spare block `attempt`, from 1 on, of the group that begins with block `first`.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline stream_candidates<WordT> stream_spare(
    const stream_block<WordT>& first, std::uint32_t attempt) {
  constexpr auto blocks = static_cast<std::uint32_t>(arith::blocks_per_group);
  return stream_draw<stream_rule::chacha8_spare>(first, first.counter / blocks, attempt);
}

/// Words that are not rejected.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t stream_accepted(
    const stream_candidates<WordT>& drawn) {
  std::uint32_t count = 0;
#if defined(__CUDA_ARCH__)
  count = arith::words_per_block<WordT> - __popc(drawn.rejected);
#else
  for (unsigned i = 0; i < arith::words_per_block<WordT>; ++i) count += ~drawn.rejected >> i & 1;
#endif
  return count;
}

#if defined(__CUDACC__)
/// Sum of `x` of the threads before this one in its `width` neighbours, a power of two. Whole warps call it.
__device__ inline std::uint32_t sum_before(std::uint32_t x, std::uint32_t width) {
  std::uint32_t sum = x;
  for (std::uint32_t d = 1; d < width; d *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xffffffff, sum, d, static_cast<int>(width));
    if (threadIdx.x % width >= d) sum += other;
  }
  return sum - x;
}

/// Fills a tile. All `stream_blocks` threads of the block call it; residues are visible to all of them
/// afterwards.
template <typename WordT, typename SourceT>
__device__ inline void stream_fill(spare_tile<WordT>& tile, const SourceT& source) {
  constexpr auto blocks = static_cast<std::uint32_t>(arith::blocks_per_group);
  const std::uint32_t j = threadIdx.x;
  const std::uint32_t rejected = stream_first(tile, j, source(j));
  stream_list(tile, j, rejected, sum_before(__popc(rejected), blocks));
  __syncthreads();
  const std::uint32_t attempts = stream_attempts(source(0));
  if (j < stream_groups * attempts) {
    const std::uint32_t group = j / attempts, missing = tile.missing[group];
    std::uint32_t taken = 0;
#pragma unroll 1
    for (std::uint32_t attempt = 1 + j % attempts; __any_sync(0xffffffff, taken < missing);
         attempt += attempts) {
      stream_candidates<WordT> drawn{};
      std::uint32_t accepted = 0;
      if (taken < missing) {
        drawn = stream_spare(source(group * blocks), attempt);
        accepted = stream_accepted(drawn);
      }
      const std::uint32_t before = sum_before(accepted, attempts);
      if (taken < missing) stream_place(tile, group, taken + before, drawn);
      taken += __shfl_sync(0xffffffff, before + accepted, static_cast<int>(attempts - 1),
                           static_cast<int>(attempts));
    }
  }
  __syncthreads();
}
#endif

}  // namespace halocline::backend::cuda
