// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/arith.cuh"
#include "backend/cuda/elementwise_access.cuh"
#include "halocline/ring/uniform_stream.hpp"

/// Seeded uniform residues, made by all threads of a block together.
///
/// A thread expands one block of a key stream and keeps its sixteen words in registers. Words that are not
/// below q are rejected: 4 % of them for the primes below 2^30 of a long chain, so that half of the blocks
/// need a second attempt and nearly every warp has threads that do. Second attempts are therefore collected
/// over the whole tile and given to as few warps as hold them; taken on the spot they cost each warp ten
/// further blocks.
namespace halocline::backend::cuda {

/// Blocks of key streams that a tile holds, and threads that fill it.
inline constexpr std::uint32_t stream_blocks = 256;
/// Packs of one block of a key stream, for both widths of words.
inline constexpr std::uint32_t stream_packs = 4;

/// Residues in shared memory, and the words that are still missing.
template <typename WordT>
struct stream_tile {
  pack<WordT> packs[stream_blocks * stream_packs];
  std::uint32_t missing[2][stream_blocks];  ///< number of a block; from bit 16 on its missing words
  std::uint32_t count[3];                   ///< entries of the list of attempt t: count[t % 3]
};

/// A block of a key stream that yields residues of one prime.
template <typename WordT>
struct stream_block {
  const ring::chacha_key* key;  ///< nullptr: none
  std::uint32_t stream, prime, counter;
  WordT q, mask;
};

/// Where pack `k` of block `j` is: neighbouring threads that each write pack k meet different banks.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t stream_slot(std::uint32_t j, std::uint32_t k) {
  return j * stream_packs + ((k + (j >> 1)) & (stream_packs - 1));
}

/// Puts block `j` on the list of words that attempt `attempt` must yield.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void stream_miss(stream_tile<WordT>& tile, std::uint32_t attempt,
                                              std::uint32_t j, std::uint32_t words) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t at = atomicAdd(&tile.count[attempt % 3], 1U);
#else
  const std::uint32_t at = tile.count[attempt % 3]++;
#endif
  tile.missing[attempt % 2][at] = j | words << 16;
}

/// Candidates of a block of a key stream.
template <typename WordT>
struct stream_candidates {
  pack<WordT> packs[stream_packs];
  std::uint32_t rejected;  ///< bit i: word i is not below q
};

template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline stream_candidates<WordT> stream_draw(
    const stream_block<WordT>& from, std::uint32_t attempt) {
  constexpr unsigned size = pack<WordT>::size;
  const ring::stream_nonce nonce{from.stream, from.prime, attempt};
  const ring::chacha_block block = ring::chacha20(*from.key, from.counter, nonce);
  stream_candidates<WordT> drawn{};
  HALOCLINE_UNROLL
  for (unsigned i = stream_packs * size; i-- != 0;) {
    const WordT word = ring::block_word<WordT>(block, i) & from.mask;
    drawn.packs[i / size].word[i % size] = word;
    // Both are far below half the range of a word: the difference wraps exactly when word >= q.
    const auto wrapped = static_cast<std::uint32_t>((from.q - 1 - word) >> (8 * sizeof(WordT) - 1));
    drawn.rejected = drawn.rejected << 1 | wrapped;
  }
  return drawn;
}

/// Attempt 0 for block `j`.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void stream_first(stream_tile<WordT>& tile, std::uint32_t j,
                                               const stream_block<WordT>& from) {
  if (from.key == nullptr) return;
  const stream_candidates<WordT> drawn = stream_draw(from, 0);
  HALOCLINE_UNROLL
  for (unsigned k = 0; k < stream_packs; ++k) tile.packs[stream_slot(j, k)] = drawn.packs[k];
  if (drawn.rejected != 0) stream_miss(tile, 1, j, drawn.rejected);
}

/// Entry `e` of the list of attempt `attempt`, which is at least 1. `source(j)` is block j of the tile.
template <typename WordT, typename SourceT>
HALOCLINE_HOST_DEVICE inline void stream_retry(stream_tile<WordT>& tile, std::uint32_t attempt,
                                               std::uint32_t e, const SourceT& source) {
  constexpr unsigned size = pack<WordT>::size;
  const std::uint32_t entry = tile.missing[attempt % 2][e];
  const std::uint32_t j = entry & 0xffff, wanted = entry >> 16;
  const stream_candidates<WordT> drawn = stream_draw(source(j), attempt);
  const std::uint32_t accepted = wanted & ~drawn.rejected;
  HALOCLINE_UNROLL
  for (unsigned k = 0; k < stream_packs; ++k) {
    pack<WordT>& to = tile.packs[stream_slot(j, k)];
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < size; ++i) {
      if ((accepted >> (k * size + i) & 1) != 0) to.word[i] = drawn.packs[k].word[i];
    }
  }
  if ((wanted & drawn.rejected) != 0) stream_miss(tile, attempt + 1, j, wanted & drawn.rejected);
}

#if defined(__CUDACC__)
/// Fills a tile. All threads of the block call it; residues are visible to all of them afterwards.
template <typename WordT, typename SourceT>
__device__ inline void stream_fill(stream_tile<WordT>& tile, const SourceT& source) {
  if (threadIdx.x < 3) tile.count[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < stream_blocks) stream_first(tile, threadIdx.x, source(threadIdx.x));
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
