// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/arith.hpp"
#include "halocline/arith/uniform_source.hpp"

/// Seeded uniform residues: the definition that every backend's `sample_uniform` and seeded
/// `key_multiply_accumulate` equal. Every group of words is addressable on its own.
///
/// A limb of N words belongs to a 32-byte public seed, a stream number s, a prime index p with modulus q, and
/// a rule. Block c of attempt t is a block of the ChaCha key stream (RFC 8439: 32-bit block counter, 96-bit
/// nonce) with the seed as key, counter c and the three nonce words (s, p, t), little endian. It holds
/// sixteen words of 32 bits, or eight of 64 bits of which the lower half comes first. Words are masked to the
/// bit length of q; those that are q or more are rejected. The candidate for word i of the limb is word i of
/// attempt 0: word i % 16 (% 8) of block i / 16 (/ 8). If it is rejected, another word takes its place:
///
/// * `stream_rule::chacha20_retry`, 20 rounds: the first word of attempts 1, 2, ... at the same position
///   that is not rejected.
/// * `stream_rule::chacha8_spare`, 8 rounds: blocks 16 g to 16 g + 15 of attempt 0 are group g. Its spare
///   words are those of block g of attempt 1, then of block g of attempt 2, and so on, without the rejected
///   ones. They replace the rejected candidates of the group, both in ascending order. A limb that is
///   shorter than a group is the beginning of one.
///
/// Both are exactly uniform if the key stream is: which positions are replaced depends on no accepted word,
/// and each accepted word, candidate or spare, is uniform below q and independent of the others.
///
/// Blocks for each 16 words, of which 4 % are rejected (primes a little below 2^30): 1.5 under the first
/// rule; 1.07 under the second, where a spare block serves up to 16 rejected words. With 8 rounds instead of
/// 20 that is 0.29 times the work. SECURITY.md says why 8 rounds are enough for a public polynomial.
namespace halocline::arith {

/// Key of a stream: the 32 bytes of a seed as eight little-endian words.
struct chacha_key {
  std::uint32_t words[8];
};

/// Reads a seed.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr chacha_key make_chacha_key(const std::uint8_t* seed) {
  chacha_key key{};
  for (int i = 0; i < 8; ++i) {
    key.words[i] =
        static_cast<std::uint32_t>(seed[4 * i]) | static_cast<std::uint32_t>(seed[4 * i + 1]) << 8 |
        static_cast<std::uint32_t>(seed[4 * i + 2]) << 16 | static_cast<std::uint32_t>(seed[4 * i + 3]) << 24;
  }
  return key;
}

/// Nonce of a uniform stream.
struct stream_nonce {
  std::uint32_t stream = 0;
  std::uint32_t prime = 0;
  std::uint32_t attempt = 0;
};

/// The sixteen words of one ChaCha block.
struct chacha_block {
  std::uint32_t words[16];
};

namespace detail {

[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t rotate_left(std::uint32_t x, int bits) {
  return (x << bits) | (x >> (32 - bits));
}

HALOCLINE_HOST_DEVICE constexpr void quarter_round(std::uint32_t* s, int a, int b, int c, int d) {
  s[a] += s[b];
  s[d] = rotate_left(s[d] ^ s[a], 16);
  s[c] += s[d];
  s[b] = rotate_left(s[b] ^ s[c], 12);
  s[a] += s[b];
  s[d] = rotate_left(s[d] ^ s[a], 8);
  s[c] += s[d];
  s[b] = rotate_left(s[b] ^ s[c], 7);
}

}  // namespace detail

/// ChaCha block function (RFC 8439, section 2.3, which has 20 rounds).
template <int Rounds>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr chacha_block chacha(const chacha_key& key,
                                                                  std::uint32_t counter,
                                                                  const stream_nonce& nonce) {
  std::uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (int i = 0; i < 8; ++i) start[4 + i] = key.words[i];
  start[12] = counter;
  start[13] = nonce.stream;
  start[14] = nonce.prime;
  start[15] = nonce.attempt;
  chacha_block block{};
  for (int i = 0; i < 16; ++i) block.words[i] = start[i];
#if defined(__CUDA_ARCH__)
#pragma unroll  // a third of the instructions of a loop move registers
#endif
  for (int round = 0; round < Rounds; round += 2) {
    for (int i = 0; i < 4; ++i) detail::quarter_round(block.words, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i) {
      detail::quarter_round(block.words, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
  }
  for (int i = 0; i < 16; ++i) block.words[i] += start[i];
  return block;
}

/// That of RFC 8439.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr chacha_block chacha20(const chacha_key& key,
                                                                    std::uint32_t counter,
                                                                    const stream_nonce& nonce) {
  return chacha<20>(key, counter, nonce);
}

/// Rounds of the generator of a rule.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr int stream_rounds(stream_rule rule) {
  return rule == stream_rule::chacha20_retry ? 20 : 8;
}

/// Candidate at position `i` of a block, i < 16 for 32-bit and i < 8 for 64-bit words, before masking.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT block_word(const chacha_block& block, std::size_t i) {
  if constexpr (sizeof(WordT) == 4) {
    return block.words[i];
  } else {
    return static_cast<WordT>(block.words[2 * i]) | static_cast<WordT>(block.words[2 * i + 1]) << 32;
  }
}

/// Words that one block yields.
template <typename WordT>
inline constexpr std::size_t words_per_block = 64 / sizeof(WordT);

/// Blocks of attempt 0 that share spare words, and their words: 256 of 32 bits, 128 of 64 bits.
inline constexpr std::size_t blocks_per_group = 16;
template <typename WordT>
inline constexpr std::size_t words_per_group = blocks_per_group* words_per_block<WordT>;

/// Bits of a candidate that are kept: 2^bits - 1.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT candidate_mask(const modulus<WordT>& q) {
  return static_cast<WordT>((WordT{1} << q.bits) - 1);
}

/// One limb of a seeded polynomial.
struct uniform_limb {
  chacha_key key{};
  std::uint32_t stream = 0;
  std::uint32_t prime = 0;
  stream_rule rule = stream_rule::chacha8_spare;
};

/// The first `count` words of group `group` of a limb under `stream_rule::chacha8_spare`.
template <typename WordT>
HALOCLINE_HOST_DEVICE constexpr void uniform_group(const uniform_limb& limb, std::size_t group,
                                                   const modulus<WordT>& q, WordT* out, std::size_t count) {
  constexpr std::size_t per_block = words_per_block<WordT>;
  const WordT mask = candidate_mask(q);
  const auto draw = [&limb](std::size_t counter, std::uint32_t attempt) {
    return chacha<stream_rounds(stream_rule::chacha8_spare)>(limb.key, static_cast<std::uint32_t>(counter),
                                                             {limb.stream, limb.prime, attempt});
  };
  chacha_block block{};
  for (std::size_t i = 0; i < count; ++i) {
    if (i % per_block == 0) block = draw(group * blocks_per_group + i / per_block, 0);
    out[i] = block_word<WordT>(block, i % per_block) & mask;
  }
  std::uint32_t attempt = 0;
  std::size_t next = per_block;
  for (std::size_t i = 0; i < count; ++i) {
    for (; out[i] >= q.value; ++next) {
      if (next == per_block) {
        block = draw(group, ++attempt);
        next = 0;
      }
      out[i] = block_word<WordT>(block, next) & mask;
    }
  }
}

/// Word `i` of a limb alone.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT uniform_word(const uniform_limb& limb, std::size_t i,
                                                                 const modulus<WordT>& q) {
  if (limb.rule == stream_rule::chacha8_spare) {
    WordT words[words_per_group<WordT>]{};
    uniform_group(limb, i / words_per_group<WordT>, q, words, i % words_per_group<WordT> + 1);
    return words[i % words_per_group<WordT>];
  }
  constexpr std::size_t per_block = words_per_block<WordT>;
  for (std::uint32_t attempt = 0;; ++attempt) {
    const chacha_block block =
        chacha20(limb.key, static_cast<std::uint32_t>(i / per_block), {limb.stream, limb.prime, attempt});
    const WordT candidate = block_word<WordT>(block, i % per_block) & candidate_mask(q);
    if (candidate < q.value) return candidate;
  }
}

}  // namespace halocline::arith
