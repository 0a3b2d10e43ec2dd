// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/uniform_stream.hpp"

/// Parameters of kernels: written by the host, read by the device where it lies. Plain data with addresses.
namespace halocline::sycl_kernels {

/// Items of one launch; each is a limb unless said otherwise.
template <typename ItemT>
struct batch {
  const ItemT* items;
  std::uint32_t count;
  std::uint32_t log_n;
};

/// One limb of an operation on single words.
template <typename WordT>
struct element_item {
  WordT* dst;
  const WordT* a;
  const WordT* b;
  const arith::modulus<WordT>* q;
  const std::uint32_t* permutation;
  WordT low;            ///< constant of the first half, or of a
  WordT high;           ///< constant of the second half, or of b
  std::uint32_t place;  ///< exponent of a shift; log_repeat of a copy
};

/// One limb of a dot product.
template <typename WordT>
struct dot_term {
  const WordT* a;
  const WordT* b;
  std::uint32_t repeat;
};
template <typename WordT>
struct dot_item {
  WordT* dst;
  const dot_term<WordT>* terms;
  const arith::modulus<WordT>* q;
  std::uint32_t count;
  std::uint32_t accumulate;
};

/// One limb of a tensor product.
template <typename WordT>
struct tensor_item {
  WordT* d[3];
  const WordT* a[2];
  const WordT* b[2];
  const arith::modulus<WordT>* q;
};

/// One product of matrices: for each word of each entry of c, modulo each of `primes` primes.
template <typename WordT>
struct matrix_item {
  WordT* c;  ///< entries of three polynomials, row by row
  const WordT* a;
  const WordT* b;  ///< entries of two polynomials
  const arith::modulus<WordT>* q;
  std::uint32_t columns;
  std::uint32_t inner;
  std::uint32_t primes;
  std::uint32_t accumulate;
};

/// One limb that is reduced modulo another prime.
template <typename WordT>
struct reduce_item {
  WordT* dst;
  const WordT* src;
  const arith::modulus<WordT>* q;
  WordT source;        ///< prime of src
  WordT wrapped;       ///< that modulo q
  WordT one_quotient;  ///< Shoup quotient of 1 modulo q
  std::uint32_t centred;
};

/// One limb of a transform. `roots` are the table that the direction needs.
template <typename WordT>
struct ntt_item {
  WordT* dst;
  const WordT* src;
  const WordT* roots;
  const WordT* quotients;
  const arith::modulus<WordT>* q;
};
/// A launch of `steps` stages of a transform from `stage` on; `last`: reduce, or multiply by 1/N.
template <typename WordT>
struct ntt_launch {
  batch<ntt_item<WordT>> limbs;
  std::uint32_t stage;
  std::uint32_t steps;
  std::uint32_t last;
};
/// Stages of a group of work items in local memory: log2 of its words.
inline constexpr unsigned log_tile = 12;
/// Stages of a work item in its registers: radix 8.
inline constexpr unsigned most_steps = 3;

/// A base conversion; an item is one conversion of whole limbs.
template <typename WordT>
struct convert_item {
  const WordT* const* src;
  WordT* const* dst;
  const arith::modulus<WordT>* const* source_moduli;
  const arith::modulus<WordT>* const* target_moduli;
  const WordT* inverses;
  const WordT* quotients;
  const WordT* reciprocals;
  const WordT* factors;
  std::uint32_t sources;
  std::uint32_t targets;
};
/// Most sources of a conversion.
inline constexpr std::uint32_t most_sources = 64;

/// One digit of a key product, and one limb of such a product.
template <typename WordT>
struct key_term {
  const WordT* digit;
  const WordT* b;
  const WordT* a;  ///< nullptr: expand `source`
  arith::uniform_limb source;
};
template <typename WordT>
struct key_item {
  WordT* dst0;
  WordT* dst1;
  const key_term<WordT>* terms;
  const WordT* plus0;
  const WordT* plus1;
  const std::uint32_t* permutation;
  const arith::modulus<WordT>* q;
  WordT factor;  ///< Montgomery form
  std::uint32_t count;
  std::uint32_t accumulate;
};

/// One limb of a weighted sum of key products: `terms` are without dst, `weights` as many.
template <typename WordT>
struct key_dot_item {
  WordT* dst0;
  WordT* dst1;
  const key_item<WordT>* terms;
  const WordT* const* weights;
  const std::uint32_t* repeats;
  const arith::modulus<WordT>* q;
  std::uint32_t count;
  std::uint32_t accumulate;
};

/// One limb of a plaintext.
template <typename WordT>
struct encode_item {
  WordT* dst;
  const std::uint64_t* coefficients;
  const arith::modulus<WordT>* q;
  std::uint32_t words;
  std::uint32_t log_stride;
};

/// One limb of a seeded polynomial.
template <typename WordT>
struct uniform_item {
  WordT* dst;
  const arith::modulus<WordT>* q;
  arith::uniform_limb source;
};

}  // namespace halocline::sycl_kernels
