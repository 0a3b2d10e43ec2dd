// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "halocline/arith/uniform_stream.hpp"

/// Seeded uniform residues, made by all threads of a block together: what both rules share
/// (`stream_retry.cuh`, `stream_spare.cuh`).
///
/// A thread expands one block of a key stream and keeps its sixteen words in registers. Words that are not
/// below q are rejected: 4 % of them for the primes below 2^30 of a long chain, so that half of the blocks
/// have some and nearly every warp has threads that do. What replaces them is therefore collected over the
/// whole tile and drawn by as few warps as hold it; taken on the spot it cost each warp ten further blocks.
namespace halocline::backend::cuda {

/// Blocks of key streams that a tile holds, and threads that fill it.
inline constexpr std::uint32_t stream_blocks = 256;
/// Packs of one block of a key stream, for both widths of words.
inline constexpr std::uint32_t stream_packs = 4;

/// Residues in shared memory, and what a rule keeps of those that are still missing.
template <typename WordT, stream_rule Rule>
struct stream_tile;

/// A block of a key stream that yields residues of one prime.
template <typename WordT>
struct stream_block {
  const arith::chacha_key* key;  ///< nullptr: none
  std::uint32_t stream, prime, counter;
  WordT q, mask;
};

/// Where pack `k` of block `j` is: neighbouring threads that each write pack k meet different banks.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t stream_slot(std::uint32_t j, std::uint32_t k) {
  return j * stream_packs + ((k + (j >> 1)) & (stream_packs - 1));
}

/// Candidates of a block of a key stream.
template <typename WordT>
struct stream_candidates {
  pack<WordT> packs[stream_packs];
  std::uint32_t rejected;  ///< bit i: word i is not below q
};

/// Block `counter` of an attempt of the key stream that `from` belongs to.
template <stream_rule Rule, typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline stream_candidates<WordT> stream_draw(
    const stream_block<WordT>& from, std::uint32_t counter, std::uint32_t attempt) {
  constexpr unsigned size = pack<WordT>::size;
  const arith::stream_nonce nonce{from.stream, from.prime, attempt};
  const arith::chacha_block block = arith::chacha<arith::stream_rounds(Rule)>(*from.key, counter, nonce);
  stream_candidates<WordT> drawn{};
  HALOCLINE_UNROLL
  for (unsigned i = stream_packs * size; i-- != 0;) {
    const WordT word = arith::block_word<WordT>(block, i) & from.mask;
    drawn.packs[i / size].word[i % size] = word;
    // Both are far below half the range of a word: the difference wraps exactly when word >= q.
    const auto wrapped = static_cast<std::uint32_t>((from.q - 1 - word) >> (8 * sizeof(WordT) - 1));
    drawn.rejected = drawn.rejected << 1 | wrapped;
  }
  return drawn;
}

/// Attempt 0 for block `j`. Returns the bits of its rejected words.
template <typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline std::uint32_t stream_first(stream_tile<WordT, Rule>& tile, std::uint32_t j,
                                                        const stream_block<WordT>& from) {
  if (from.key == nullptr) return 0;
  const stream_candidates<WordT> drawn = stream_draw<Rule>(from, from.counter, 0);
  HALOCLINE_UNROLL
  for (unsigned k = 0; k < stream_packs; ++k) tile.packs[stream_slot(j, k)] = drawn.packs[k];
  return drawn.rejected;
}

}  // namespace halocline::backend::cuda
