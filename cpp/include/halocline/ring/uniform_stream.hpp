// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/ring/arith.hpp"

/// Seeded uniform residues, one word at a time: the definition that every backend's `sample_uniform` and
/// seeded `key_multiply_accumulate` equal. Every word is addressable on its own, so any thread can produce
/// any word.
///
/// Word i of the limb of prime index p with modulus q, under a 32-byte public seed and a stream number s, is
/// found by rejection: attempt t = 0, 1, 2, ... reads word i of the ChaCha20 key stream (RFC 8439: 20 rounds,
/// 32-bit block counter from 0, 96-bit nonce) with the seed as key and the three nonce words (s, p, t),
/// little endian. For 32-bit words that is key-stream word i (word i % 16 of block i / 16); for 64-bit words
/// it is key-stream words 2i (low half) and 2i + 1 (high half). The candidate is masked to the bit length of
/// q; the first one below q is the residue. The result is exactly uniform, and rejections are rare for primes
/// just below a power of two.
namespace halocline::ring {

/// Key of a stream: the seed as eight little-endian words.
struct chacha_key {
  std::uint32_t words[8];
};

/// Reads a 32-byte seed.
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

/// The sixteen words of one ChaCha20 block.
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

/// ChaCha20 block function (RFC 8439, section 2.3).
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr chacha_block chacha20(const chacha_key& key,
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
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) detail::quarter_round(block.words, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i) {
      detail::quarter_round(block.words, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
  }
  for (int i = 0; i < 16; ++i) block.words[i] += start[i];
  return block;
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

/// Words that one ChaCha20 block yields.
template <typename WordT>
inline constexpr std::size_t words_per_block = 64 / sizeof(WordT);

/// Bits of a candidate that are kept: 2^bits - 1.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT candidate_mask(const modulus<WordT>& q) {
  return static_cast<WordT>((WordT{1} << q.bits) - 1);
}

/// Residue at position `i` of the limb of prime index `prime`, beginning with attempt `first_attempt`.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr WordT uniform_word(const chacha_key& key, std::uint32_t stream,
                                                                 std::uint32_t prime, std::size_t i,
                                                                 const modulus<WordT>& q,
                                                                 std::uint32_t first_attempt = 0) {
  constexpr std::size_t per_block = words_per_block<WordT>;
  for (std::uint32_t attempt = first_attempt;; ++attempt) {
    const chacha_block block =
        chacha20(key, static_cast<std::uint32_t>(i / per_block), {stream, prime, attempt});
    const WordT candidate = block_word<WordT>(block, i % per_block) & candidate_mask(q);
    if (candidate < q.value) return candidate;
  }
}

}  // namespace halocline::ring
