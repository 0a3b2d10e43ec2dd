// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

/// Seeded uniform residues. Under the rule with spare words a group of work items makes one group of words.
namespace halocline::sycl_kernels {

inline constexpr std::size_t stream_words = arith::words_per_group<word>;

/// Replaces rejected candidates, in order, by what follows in the blocks of later attempts.
inline void replace_rejected(word* out, std::size_t count, const arith::uniform_limb& source,
                             std::size_t group, const modulus& q) {
  constexpr std::size_t per_block = arith::words_per_block<word>;
  constexpr int rounds = arith::stream_rounds(stream_rule::chacha8_spare);
  arith::chacha_block block{};
  std::uint32_t attempt = 0;
  std::size_t next = per_block;
  for (std::size_t i = 0; i < count; ++i) {
    for (; out[i] >= q.value; ++next) {
      if (next == per_block) {
        block = arith::chacha<rounds>(source.key, static_cast<std::uint32_t>(group),
                                      {source.stream, source.prime, ++attempt});
        next = 0;
      }
      out[i] = arith::block_word<word>(block, next) & arith::candidate_mask(q);
    }
  }
}

/// The first `count` words of a group of a stream, in local memory; all work items of a group call it.
inline void draw_group(word* out, std::size_t count, const arith::uniform_limb& source, std::size_t group,
                       const modulus& q) {
  constexpr std::size_t per_block = arith::words_per_block<word>;
  constexpr int rounds = arith::stream_rounds(stream_rule::chacha8_spare);
  if (source.rule != stream_rule::chacha8_spare) {
    for (std::size_t i = local_id(); i < count; i += group_size()) {
      out[i] = arith::uniform_word(source, group * stream_words + i, q);
    }
    return barrier();
  }
  for (std::size_t b = local_id(); b * per_block < count; b += group_size()) {
    const arith::chacha_block block =
        arith::chacha<rounds>(source.key, static_cast<std::uint32_t>(group * arith::blocks_per_group + b),
                              {source.stream, source.prime, 0});
    for (std::size_t i = 0; i < per_block && b * per_block + i < count; ++i) {
      out[b * per_block + i] = arith::block_word<word>(block, i) & arith::candidate_mask(q);
    }
  }
  barrier();
  if (local_id() == 0) replace_rejected(out, count, source, group, q);
  barrier();
}

/// A group of work items has `group_size` words of a limb, which are a group of the stream or a whole limb.
HALOCLINE_KERNEL(halocline_sample_uniform, batch<uniform_item<word>>) {
  local_memory<word[stream_words]> words;
  const position at(*p);
  draw_group(&words[0], group_size(), at.item.source, at.j / stream_words, *at.item.q);
  at.item.dst[at.j] = words[local_id()];
}

}  // namespace halocline::sycl_kernels
