// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/uniform_stream.hpp"

/// Seeded small coefficients (ternary, Gaussian), one at a time: the definition that every backend's
/// `sample_small` equals. Every coefficient is addressable on its own, so any thread can produce any of them.
/// The seeds are private: a seed determines its polynomial.
///
/// Coefficient i of stream s under a 32-byte seed reads word i of a ChaCha20 key stream (RFC 8439: 20 rounds,
/// 32-bit block counter from 0, 96-bit nonce) with the seed as key. The nonce words are s, a number that no
/// prime has (`ternary_domain`, `gaussian_domain`), and the attempt.
///
/// Ternary: word i of 32 bits is sixteen pairs of bits, of which the first that is not 3 counts, less 1. When
/// all are 3, which has probability 2^-32, the next attempt follows. Exactly uniform, no division.
///
/// Gaussian: of word i of 64 bits (32-bit words 2i, 2i + 1, low half first) the low 63 bits are inverted with
/// a cumulative table by a full scan, and the highest is the sign.
///
/// No branch or memory address depends on a coefficient.
namespace halocline::arith {

/// Second nonce words of the two kinds.
inline constexpr std::uint32_t ternary_domain = 0xfffffffe;
inline constexpr std::uint32_t gaussian_domain = 0xffffffff;

/// Coefficients that one ChaCha20 block yields.
inline constexpr std::size_t ternary_per_block = 16;
inline constexpr std::size_t gaussian_per_block = 8;

/// Lower bits of the pairs of `word` that are not 3; 0 when all are 3.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t ternary_accepted(std::uint32_t word) {
  return ~(word & word >> 1) & 0x55555555U;
}

/// The first accepted pair of `word`, less 1. `accepted` is not 0.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::int64_t ternary_value(std::uint32_t word,
                                                                         std::uint32_t accepted) {
  const std::uint32_t first = accepted & (0U - accepted);
  const std::int32_t low = (word & first) != 0 ? 1 : 0;
  const std::int32_t high = (word >> 1 & first) != 0 ? 1 : 0;
  return low + 2 * high - 1;
}

/// Magnitude: how many of the table's entries the low 63 bits of `word` reach. Sign: its highest bit.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::int64_t gaussian_value(std::uint64_t word,
                                                                          const std::uint64_t* table,
                                                                          std::size_t entries) {
  const std::uint64_t position = word & 0x7fffffffffffffffU;
  std::uint64_t missed = 0;
  for (std::size_t e = 0; e < entries; ++e) missed += (position - table[e]) >> 63;
  const auto magnitude = static_cast<std::int64_t>(entries - missed);
  const std::int64_t negative = -static_cast<std::int64_t>(word >> 63);
  return (magnitude ^ negative) - negative;
}

/// Ternary coefficient i, beginning with attempt `first_attempt`.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::int64_t ternary_coefficient(
    const chacha_key& key, std::uint32_t stream, std::size_t i, std::uint32_t first_attempt = 0) {
  for (std::uint32_t attempt = first_attempt;; ++attempt) {
    const chacha_block block =
        chacha20(key, static_cast<std::uint32_t>(i / ternary_per_block), {stream, ternary_domain, attempt});
    const std::uint32_t word = block.words[i % ternary_per_block];
    const std::uint32_t accepted = ternary_accepted(word);
    if (accepted != 0) return ternary_value(word, accepted);
  }
}

/// Gaussian coefficient i.
/// @param table cumulative distribution of magnitudes in units of 2^-63 (`gaussian_table`)
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::int64_t gaussian_coefficient(const chacha_key& key,
                                                                                std::uint32_t stream,
                                                                                std::size_t i,
                                                                                const std::uint64_t* table,
                                                                                std::size_t entries) {
  const chacha_block block =
      chacha20(key, static_cast<std::uint32_t>(i / gaussian_per_block), {stream, gaussian_domain, 0});
  return gaussian_value(block_word<std::uint64_t>(block, i % gaussian_per_block), table, entries);
}

}  // namespace halocline::arith
