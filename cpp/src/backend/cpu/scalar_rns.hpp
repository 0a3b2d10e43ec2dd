// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_set.hpp"
#include "halocline/arith/arith.hpp"
#include "halocline/backend/descriptors.hpp"

/// Specification of base conversion, key multiplication, encoding and seeded sampling.
namespace halocline::backend::cpu::scalar {

using arith::modulus;

/// Most sources of a base conversion.
inline constexpr std::size_t max_sources = 64;

template <typename WordT>
void base_convert(WordT* const* dst, const WordT* const* src, word_range range, const conversion<WordT>& c) {
  using wide = arith::double_word<WordT>;
  constexpr unsigned shift = reciprocal_shift(8 * sizeof(WordT));
  for (std::size_t j = range.begin; j < range.begin + range.count; ++j) {
    WordT y[max_sources];
    wide fraction = wide{1} << (shift - 1);  // sum of y_i / d_i, plus one half
    for (std::size_t i = 0; i < c.sources; ++i) {
      y[i] = arith::mul_shoup(src[i][j], c.inverses[i], c.inverse_quotients[i], *c.source_moduli[i]);
      fraction += static_cast<wide>(y[i]) * c.reciprocals[i];
    }
    const WordT v = static_cast<WordT>(fraction >> shift);
    for (std::size_t t = 0; t < c.targets; ++t) {
      const auto& p = *c.target_moduli[t];
      const WordT* const factors = c.factors + t * (c.sources + 1);
      WordT sum = arith::montgomery_reduce<WordT>(static_cast<wide>(v) * factors[c.sources], p);
      for (std::size_t i = 0; i < c.sources; ++i) {
        sum =
            arith::add_mod(sum, arith::montgomery_reduce<WordT>(static_cast<wide>(y[i]) * factors[i], p), p);
      }
      dst[t][j] = sum;
    }
  }
}

template <typename WordT>
void key_multiply_accumulate(WordT* dst0, WordT* dst1, const key_operand<WordT>* digits, std::size_t terms,
                             const key_addend<WordT>& plus, bool accumulate, const std::uint32_t* permutation,
                             word_range range, const modulus<WordT>& q) {
  using wide = arith::double_word<WordT>;
  for (std::size_t target = range.begin; target < range.begin + range.count; ++target) {
    const std::size_t i = permutation != nullptr ? permutation[target] : target;
    WordT sum0 = accumulate ? dst0[target] : WordT{0};
    WordT sum1 = accumulate ? dst1[target] : WordT{0};
    for (std::size_t t = 0; t < terms; ++t) {
      const auto& op = digits[t];
      const wide digit = op.digit[i];
      const WordT a = op.a != nullptr ? op.a[i] : arith::uniform_word(op.source, i, q);
      sum0 = arith::add_mod(sum0, arith::montgomery_reduce<WordT>(digit * op.b[i], q), q);
      sum1 = arith::add_mod(sum1, arith::montgomery_reduce<WordT>(digit * a, q), q);
    }
    const auto scaled = [&](const WordT* addend) {
      if (addend == nullptr) return WordT{0};
      return arith::montgomery_reduce<WordT>(static_cast<wide>(addend[i]) * plus.factor, q);
    };
    dst0[target] = arith::add_mod(sum0, scaled(plus.first), q);
    dst1[target] = arith::add_mod(sum1, scaled(plus.second), q);
  }
}

/// Residue of the two's complement integer whose 64-bit words are x[0] (low) and x[words - 1] (high).
template <typename WordT>
[[nodiscard]] WordT signed_residue(const std::uint64_t* x, unsigned words, const modulus<WordT>& q) {
  const WordT high = arith::signed_mod(static_cast<std::int64_t>(x[words - 1]), q);
  if (words == 1) return high;
  const WordT two_to_32 = arith::signed_mod(std::int64_t{1} << 32, q);
  const WordT shifted = arith::mul_mod(high, arith::mul_mod(two_to_32, two_to_32, q), q);
  return arith::add_mod(shifted, static_cast<WordT>(x[0] % q.value), q);
}

template <typename WordT>
void encode_expand(WordT* dst, const std::uint64_t* coefficients, unsigned words, std::size_t count,
                   const modulus<WordT>& q) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = signed_residue(coefficients + i * words, words, q);
}

template <typename WordT>
void sample_uniform(WordT* dst, const arith::uniform_limb& source, word_range range,
                    const modulus<WordT>& q) {
  constexpr std::size_t group = arith::words_per_group<WordT>;
  const std::size_t end = range.begin + range.count;
  if (source.rule == stream_rule::chacha8_spare) {
    for (std::size_t i = range.begin; i < end; i += group) {
      arith::uniform_group(source, i / group, q, dst + i, std::min(group, end - i));
    }
    return;
  }
  for (std::size_t i = range.begin; i < end; ++i) dst[i] = arith::uniform_word(source, i, q);
}

}  // namespace halocline::backend::cpu::scalar
