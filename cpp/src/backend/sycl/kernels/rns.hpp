// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stream.hpp"

/// Base conversion, key products, residues of integers.
namespace halocline::sycl_kernels {

inline constexpr unsigned reciprocal_shift = sizeof(word) == 4 ? 51 : 89;

/// The scaled residues of coefficient j, and the multiple of the source modulus to subtract.
inline word scale_sources(const convert_item<word>& of, std::size_t j, word* y) {
  wide fraction = static_cast<wide>(word{1}) << (reciprocal_shift - 1);
  for (std::uint32_t i = 0; i < of.sources; ++i) {
    y[i] = arith::mul_shoup(of.src[i][j], of.inverses[i], of.quotients[i], *of.source_moduli[i]);
    fraction = fraction + static_cast<wide>(y[i]) * of.reciprocals[i];
  }
  return static_cast<word>(fraction >> reciprocal_shift);
}

/// A work item converts one coefficient. Factors are in Montgomery form.
HALOCLINE_KERNEL(halocline_base_convert, batch<convert_item<word>>) {
  const position at(*p);
  word y[most_sources];
  const word v = scale_sources(at.item, at.j, y);
  for (std::uint32_t t = 0; t < at.item.targets; ++t) {
    const modulus q = *at.item.target_moduli[t];
    const word* const factors = at.item.factors + t * (at.item.sources + 1);
    word sum = arith::montgomery_reduce<word>(static_cast<wide>(v) * factors[at.item.sources], q);
    for (std::uint32_t i = 0; i < at.item.sources; ++i) {
      const word part = arith::montgomery_reduce<word>(static_cast<wide>(y[i]) * factors[i], q);
      sum = arith::add_mod(sum, part, q);
    }
    at.item.dst[t][at.j] = sum;
  }
}

/// Both sums of products, at most `terms_per_reduction` products to a reduction.
struct key_sums {
  word first = 0, second = 0;
  wide part0 = static_cast<wide>(word{0}), part1 = static_cast<wide>(word{0});
  std::uint32_t terms = 0;

  void add(word digit, word b, word a, const modulus& q) {
    part0 = part0 + static_cast<wide>(digit) * b;
    part1 = part1 + static_cast<wide>(digit) * a;
    if (++terms == terms_per_reduction) reduce(q);
  }
  void reduce(const modulus& q) {
    first = arith::add_mod(first, arith::montgomery_reduce<word>(part0, q), q);
    second = arith::add_mod(second, arith::montgomery_reduce<word>(part1, q), q);
    part0 = part1 = static_cast<wide>(word{0});
    terms = 0;
  }
};

/// Reduces the sums of place `i` and adds the addends.
inline void complete_key(const key_item<word>& of, key_sums& sums, std::size_t i, const modulus& q) {
  sums.reduce(q);
  const auto plus = [&](word sum, const word* addend) {
    if (addend == nullptr) return sum;
    const word added = arith::montgomery_reduce<word>(static_cast<wide>(addend[i]) * of.factor, q);
    return arith::add_mod(sum, added, q);
  };
  sums.first = plus(sums.first, of.plus0);
  sums.second = plus(sums.second, of.plus1);
}

/// Stores the complete sums of place `i` at place `j`.
inline void finish_key(const key_item<word>& of, key_sums& sums, std::size_t i, std::size_t j,
                       const modulus& q) {
  complete_key(of, sums, i, q);
  const auto put = [&](word* dst, word sum) {
    dst[j] = of.accumulate != 0 ? arith::add_mod(sum, dst[j], q) : sum;
  };
  put(of.dst0, sums.first);
  put(of.dst1, sums.second);
}

/// The sums of keys in memory, of place `i`.
inline key_sums key_products(const key_item<word>& of, std::size_t i, const modulus& q) {
  key_sums sums;
  for (std::uint32_t t = 0; t < of.count; ++t) {
    const key_term<word>& term = of.terms[t];
    sums.add(term.digit[i], term.b[i], term.a[i], q);
  }
  return sums;
}

HALOCLINE_KERNEL(halocline_key_multiply, batch<key_item<word>>) {
  const position at(*p);
  const modulus q = *at.item.q;
  const std::size_t i = at.item.permutation != nullptr ? at.item.permutation[at.j] : at.j;
  key_sums sums = key_products(at.item, i, q);
  finish_key(at.item, sums, i, at.j, q);
}

HALOCLINE_KERNEL(halocline_key_dot, batch<key_dot_item<word>>) {
  const position at(*p);
  const modulus q = *at.item.q;
  word first = 0, second = 0;
  if (at.item.accumulate != 0) {
    first = at.item.dst0[at.j];
    second = at.item.dst1[at.j];
  }
  for (std::uint32_t t = 0; t < at.item.count; ++t) {
    const key_item<word>& term = at.item.terms[t];
    const std::size_t i = term.permutation != nullptr ? term.permutation[at.j] : at.j;
    key_sums sums = key_products(term, i, q);
    complete_key(term, sums, i, q);
    const word weight = at.item.weights[t][at.j >> at.item.repeats[t]];
    first = arith::add_mod(first, arith::mul_mod(sums.first, weight, q), q);
    second = arith::add_mod(second, arith::mul_mod(sums.second, weight, q), q);
  }
  at.item.dst0[at.j] = first;
  at.item.dst1[at.j] = second;
}

/// With seeds among the terms: a group of work items draws a group of the stream for each of them. A
/// permutation takes an aligned block to an aligned block, so one group of the stream is enough.
HALOCLINE_KERNEL(halocline_key_multiply_seeded, batch<key_item<word>>) {
  local_memory<word[stream_words]> memory;
  word* const drawn = &memory[0];
  const position at(*p);
  const modulus q = *at.item.q;
  const std::size_t i = at.item.permutation != nullptr ? at.item.permutation[at.j] : at.j;
  key_sums sums;
  for (std::uint32_t t = 0; t < at.item.count; ++t) {
    const key_term<word>& term = at.item.terms[t];
    if (term.a == nullptr) draw_group(drawn, group_size(), term.source, i / stream_words, q);
    sums.add(term.digit[i], term.b[i], term.a != nullptr ? term.a[i] : drawn[i % stream_words], q);
    barrier();
  }
  finish_key(at.item, sums, i, at.j, q);
}

/// Residue of the two's complement integer whose 64-bit words are x[0] (low) and x[words - 1] (high).
inline word signed_residue(const std::uint64_t* x, std::uint32_t words, const modulus& q) {
  const word high = arith::signed_mod(static_cast<std::int64_t>(x[words - 1]), q);
  if (words == 1) return high;
  const word two_to_32 = arith::signed_mod(std::int64_t{1} << 32, q);
  const word shifted = arith::mul_mod(high, arith::mul_mod(two_to_32, two_to_32, q), q);
  return arith::add_mod(shifted, static_cast<word>(x[0] % q.value), q);
}

HALOCLINE_KERNEL(halocline_encode_expand, batch<encode_item<word>>) {
  const position at(*p);
  const std::size_t between = (std::size_t{1} << at.item.log_stride) - 1;
  const std::size_t number = at.j >> at.item.log_stride;
  at.item.dst[at.j] = (at.j & between) != 0 ? word{0}
                                            : signed_residue(at.item.coefficients + number * at.item.words,
                                                             at.item.words, *at.item.q);
}

}  // namespace halocline::sycl_kernels
