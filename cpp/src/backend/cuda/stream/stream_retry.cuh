// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/stream/stream_tile.cuh"

/// `stream_rule::chacha20_retry`: a block with rejected words is drawn again.
namespace halocline::backend::cuda {

template <typename WordT>
struct stream_tile<WordT, stream_rule::chacha20_retry> {
  pack<WordT> packs[stream_blocks * stream_packs];
  std::uint32_t missing[2][stream_blocks];  ///< number of a block; from bit 16 on its missing words
  std::uint32_t count[3];                   ///< entries of the list of attempt t: count[t % 3]
};
template <typename WordT>
using retry_tile = stream_tile<WordT, stream_rule::chacha20_retry>;

/// Puts block `j` on the list of words that attempt `attempt` must yield, if it misses any.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void stream_miss(retry_tile<WordT>& tile, std::uint32_t attempt, std::uint32_t j,
                                              std::uint32_t words) {
  if (words == 0) return;
#if defined(__CUDA_ARCH__)
  const std::uint32_t at = atomicAdd(&tile.count[attempt % 3], 1U);
#else
  const std::uint32_t at = tile.count[attempt % 3]++;
#endif
  tile.missing[attempt % 2][at] = j | words << 16;
}

/// Entry `e` of the list of attempt `attempt`, which is at least 1. `source(j)` is block j of the tile.
template <typename WordT, typename SourceT>
HALOCLINE_HOST_DEVICE inline void stream_retry(retry_tile<WordT>& tile, std::uint32_t attempt,
                                               std::uint32_t e, const SourceT& source) {
  constexpr unsigned size = pack<WordT>::size;
  const std::uint32_t entry = tile.missing[attempt % 2][e];
  const std::uint32_t j = entry & 0xffff, wanted = entry >> 16;
  const stream_block<WordT> from = source(j);
  const auto drawn = stream_draw<stream_rule::chacha20_retry>(from, from.counter, attempt);
  const std::uint32_t accepted = wanted & ~drawn.rejected;
  HALOCLINE_UNROLL
  for (unsigned k = 0; k < stream_packs; ++k) {
    pack<WordT>& to = tile.packs[stream_slot(j, k)];
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < size; ++i) {
      if ((accepted >> (k * size + i) & 1) != 0) to.word[i] = drawn.packs[k].word[i];
    }
  }
  stream_miss(tile, attempt + 1, j, wanted & drawn.rejected);
}

#if defined(__CUDACC__)
/// Fills a tile. All threads of the block call it; residues are visible to all of them afterwards.
template <typename WordT, typename SourceT>
__device__ inline void stream_fill(retry_tile<WordT>& tile, const SourceT& source) {
  if (threadIdx.x < 3) tile.count[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < stream_blocks) {
    stream_miss(tile, 1, threadIdx.x, stream_first(tile, threadIdx.x, source(threadIdx.x)));
  }
#pragma unroll 1
  for (std::uint32_t attempt = 1;; ++attempt) {
    __syncthreads();
    const std::uint32_t count = tile.count[attempt % 3];
    if (count == 0) return;
    // Read by all threads before the last barrier, used again after the next one.
    if (threadIdx.x == 0) tile.count[(attempt + 2) % 3] = 0;
    for (std::uint32_t e = threadIdx.x; e < count; e += blockDim.x) stream_retry(tile, attempt, e, source);
  }
}
#endif

}  // namespace halocline::backend::cuda
