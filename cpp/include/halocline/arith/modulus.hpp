// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline::arith {

/// Double-width unsigned integer of a word, for products before reduction.
template <typename WordT>
struct double_width;
template <>
struct double_width<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct double_width<std::uint64_t> {
#if defined(HALOCLINE_DOUBLE_WORD_64)  // devices without 128-bit integers bring a type of their own
  using type = HALOCLINE_DOUBLE_WORD_64;
#else
  __extension__ using type = unsigned __int128;
#endif
};
/// Unsigned integer twice as wide as the word.
template <typename WordT>
using double_word = typename double_width<WordT>::type;

/// Largest number of bits of a prime for a word: two bits stay free, so that sums of four residues fit and
/// Harvey's lazy butterflies may work in [0, 4q) (Harvey, "Faster arithmetic for number-theoretic
/// transforms", 2014, section 3). One more bit is kept for 64-bit words to agree with SEAL's limit.
template <typename WordT>
inline constexpr unsigned max_modulus_bits = sizeof(WordT) == 4 ? 30U : 61U;

/// A prime with the constants that the reductions need. Plain data, the same on host and device.
template <typename WordT>
struct modulus {
  WordT value = 0;    ///< q, odd prime, 2^(bits-1) < q < 2^bits
  WordT barrett = 0;  ///< floor(2^(2 bits) / q), below 2^(bits+1)
  WordT neg_inv = 0;  ///< -q^-1 mod 2^w, w the bits of a word
  WordT r = 0;        ///< 2^w mod q (Montgomery form of one)
  WordT r2 = 0;       ///< 2^(2w) mod q (brings a residue into Montgomery form)
  WordT bits = 0;     ///< bit length of q
};

/// Computes the constants of the odd number `q`. Host only.
/// @param q odd, 2 < q < 2^max_modulus_bits
template <typename WordT>
[[nodiscard]] constexpr modulus<WordT> make_modulus(WordT q) {
  using wide = double_word<WordT>;
  constexpr unsigned w = 8 * sizeof(WordT);
  modulus<WordT> m;
  m.value = q;
  while (m.bits < w && (q >> m.bits) != 0) ++m.bits;
  m.barrett = static_cast<WordT>((static_cast<wide>(1) << (2 * static_cast<unsigned>(m.bits))) / q);
  WordT inv = q;  // Newton iteration doubles the correct low bits: 3, 6, 12, 24, 48, 96
  for (int i = 0; i < 5; ++i) inv = static_cast<WordT>(inv * (WordT{2} - q * inv));
  m.neg_inv = static_cast<WordT>(WordT{0} - inv);
  m.r = static_cast<WordT>((static_cast<wide>(1) << w) % q);
  m.r2 = static_cast<WordT>(static_cast<wide>(m.r) * m.r % q);
  return m;
}

}  // namespace halocline::arith
