// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "halocline/backend/descriptors.hpp"

/// Batch descriptors of key products.
namespace halocline::backend {

/// One digit of a key switch.
struct key_digit {
  limb_view digit;  ///< NTT form, spans the primes of the job
  /// Limb i of the buffer belongs to prime first_prime + i; Montgomery form.
  const memory::buffer* key_b = nullptr;
  const memory::buffer* key_a = nullptr;  ///< like key_b; nullptr when seeded
  uniform_source a_source{};              ///< expands to key_a when key_a is nullptr
  std::uint32_t first_prime = 0;          ///< at most the first of the job
  /// In key products: the limbs are in coefficient form, and the operation transforms them. They are of no
  /// other digit of the call, and hold nothing of meaning afterwards.
  bool coefficients = false;
};

/// Name in traces of a step of key products in which halves of keys are expanded from their seeds: it reads
/// fewer bytes than one with whole keys, and takes longer on GPUs.
inline constexpr std::string_view seeded_key_product = "key_multiply_accumulate:seeded";

/// Name in traces of a step that also transforms digits, of keys that are not seeded.
inline constexpr std::string_view transforming_key_product = "key_multiply_accumulate:transforming";

/// Digits with another key, and the automorphism of their sums: see `key_job::more`.
struct key_part {
  std::vector<key_digit> digits;
  const memory::buffer* permutation = nullptr;
  /// In place of the addends of the job, where either of these has data.
  limb_view plus0{};
  limb_view plus1{};
};

/// sum0 = sum_j digit_j * b_j / 2^w + factor * plus0, sum1 = sum_j digit_j * a_j / 2^w + factor * plus1 mod
/// q. Without factors nothing but the sums of products; a plus view without data counts as zero.
///
/// dst[j] = sum[j], or sum[permutation[j]] where there is a permutation (added to dst when `accumulate`).
/// With a permutation, dst is no operand. Jobs of one call may have different keys, and never share a dst.
struct key_job {
  limb_view dst0;
  limb_view dst1;
  std::vector<key_digit> digits;
  bool accumulate = false;
  limb_view plus0{};
  limb_view plus1{};
  std::vector<std::uint64_t> factors{};  ///< residues, one per limb, or none
  /// As that of `automorphism_job`: an automorphism of the sums without a pass over them.
  const memory::buffer* permutation = nullptr;
  /// Further sums, of other digits and with the addends of the job or their own, that are added to dst, each
  /// through its own permutation: a sum of rotations that is written once. With any, dst is no operand.
  std::vector<key_part> more{};
};

/// Most digits of a `key_term`.
inline constexpr std::size_t most_dot_digits = 64;

/// Both sums of products of digits with a key, as those of a `key_job`, that a `key_dot_job` weighs: they are
/// written nowhere. No digits: the addends alone.
struct key_term {
  std::vector<key_digit> digits;  ///< not seeded, in NTT form; at most `most_dot_digits`
  limb_view plus0{};
  limb_view plus1{};
  const memory::buffer* permutation = nullptr;
};

/// (dst0, dst1) = sum_i weights[i] * terms[numbers[i]] (added to dst when `accumulate`).
struct weighted_sum {
  limb_view dst0;
  limb_view dst1;
  bool accumulate = false;
  std::vector<std::uint32_t> numbers{};  ///< of terms of the job, ascending
  std::vector<limb_view> weights{};      ///< any may be a repeated view; all begin at one limb number
};

/// Weighted sums of key products, modulo the same primes: what is wanted of the rotations of a decomposed
/// polynomial in a linear transform, without writing and reading the rotations. No dst is an operand.
struct key_dot_job {
  std::vector<key_term> terms;
  std::vector<weighted_sum> sums;        ///< at least one
  std::vector<std::uint64_t> factors{};  ///< of the addends of all terms, one per limb; none without addends
};

}  // namespace halocline::backend
