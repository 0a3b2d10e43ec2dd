// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/stream/stream_retry.cuh"
#include "backend/cuda/stream/stream_spare.cuh"

/// Encoding of integers and seeded uniform residues: parameter blocks and bodies of the kernels.
namespace halocline::backend::cuda {

inline constexpr unsigned encode_jobs = 64;
inline constexpr unsigned sample_jobs = 64;
/// Limbs that one thread makes of the coefficients it has read.
inline constexpr unsigned encode_limbs = 4;

template <typename WordT>
struct encode_params {
  using word = WordT;
  struct job {
    WordT* dst;
    const std::uint64_t* coefficients;
    std::uint32_t first_prime;
    std::uint32_t limbs;
    std::uint32_t words;  ///< of 64 bits, per coefficient
    std::uint32_t log_stride;
  };
  batch<job, encode_jobs> jobs;  ///< rows are groups of `encode_limbs` limbs
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  cache_hint store = cache_hint::normal;
};

/// What makes residues modulo one prime of two's complement integers of `count` words.
template <typename WordT>
struct encode_constants {
  WordT power[16 / sizeof(WordT)];  ///< 2^(w (i + 1)) mod q, so that a reduction leaves x_i 2^(w i)
  WordT offset;                     ///< 2^(w count - 1) mod q
};

template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline encode_constants<WordT> make_encode_constants(
    unsigned count, const modulus<WordT>& q) {
  using wide = double_word<WordT>;
  constexpr unsigned most = 16 / sizeof(WordT);
  encode_constants<WordT> made{};
  WordT power = q.r, top = q.r;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < most; ++i) {
    if (i != 0) power = arith::montgomery_reduce<WordT>(static_cast<wide>(power) * q.r2, q);
    made.power[i] = power;
    if (i + 1 == count) top = power;
  }
  constexpr WordT sign = WordT{1} << (8 * sizeof(WordT) - 1);
  made.offset = arith::montgomery_reduce<WordT>(static_cast<wide>(top) * sign, q);
  return made;
}

/// Residue of a two's complement integer whose most significant word has its sign bit flipped, which adds
/// 2^(w count - 1). Words beyond `count` are zero. A sum of `most` products of any word and a residue is
/// below 4 q 2^w (2 q 2^w for 64 bits) and fits a double word.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline WordT encode_residue(const WordT* x,
                                                                const encode_constants<WordT>& c,
                                                                const modulus<WordT>& q) {
  double_word<WordT> sum = 0;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < 16 / sizeof(WordT); ++i) {
    sum += static_cast<double_word<WordT>>(x[i]) * c.power[i];
  }
  return arith::sub_mod(arith::montgomery_reduce<WordT>(normalise<WordT>(sum, q), q), c.offset, q);
}

/// One pack of coefficients and `encode_limbs` limbs per thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void encode_body(const encode_params<WordT>& p, const coordinates& at) {
  constexpr unsigned size = pack<WordT>::size, most = 16 / sizeof(WordT), per_64 = 8 / sizeof(WordT);
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * size;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t first = (at.block_y - p.jobs.begin[number]) * encode_limbs;
  WordT x[size][most] = {};
  const std::uint32_t between = (1U << job.log_stride) - 1;
  HALOCLINE_UNROLL
  for (unsigned c = 0; c < size; ++c) {
    const bool is_there = ((index + c) & between) == 0;
    const std::size_t number_of = (index + c) >> job.log_stride;
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      if (i >= job.words) continue;
      std::uint64_t value = is_there ? job.coefficients[number_of * job.words + i] : 0;
      if (i + 1 == job.words) value ^= std::uint64_t{1} << 63;
      x[c][i * per_64] = static_cast<WordT>(value);
      if constexpr (per_64 == 2) x[c][2 * i + 1] = static_cast<WordT>(value >> 32);
    }
  }
  const cache_policy policy = make_policy(p.store);
  for (unsigned l = 0; l < encode_limbs; ++l) {
    if (first + l >= job.limbs) return;
    const modulus<WordT> q = p.moduli[job.first_prime + first + l];
    const encode_constants<WordT> constants = make_encode_constants<WordT>(job.words * per_64, q);
    pack<WordT> result;
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < size; ++c) result.word[c] = encode_residue<WordT>(x[c], constants, q);
    store<WordT>(job.dst + static_cast<std::size_t>(first + l) * p.words + index, result, policy);
  }
}

template <typename WordT>
struct sample_params {
  using word = WordT;
  struct job {
    WordT* dst;
    arith::chacha_key key;
    std::uint32_t stream;
    std::uint32_t first_prime;
  };
  batch<job, sample_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  stream_rule rule = stream_rule::chacha8_spare;  ///< of all jobs of the launch
  cache_hint store = cache_hint::normal;
};

/// Block `j` of the tile of a block of threads.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline stream_block<WordT> sample_source(const sample_params<WordT>& p,
                                                                             const coordinates& at,
                                                                             std::uint32_t j) {
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t prime = job.first_prime + at.block_y - p.jobs.begin[number];
  const modulus<WordT>& q = p.moduli[prime];
  const std::uint32_t counter = at.block_x * stream_blocks + j;
  const bool valid = counter * arith::words_per_block<WordT> < p.words;
  return {valid ? &job.key : nullptr, job.stream, prime, counter, q.value, arith::candidate_mask(q)};
}

/// Writes the residues of a tile.
template <typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline void sample_store(const sample_params<WordT>& p, const coordinates& at,
                                               const stream_tile<WordT, Rule>& tile) {
  const std::uint32_t number = p.jobs.find(at.block_y);
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  WordT* const dst = p.jobs.items[number].dst + static_cast<std::size_t>(local) * p.words;
  const cache_policy policy = make_policy(p.store);
  for (std::uint32_t i = at.thread; i < stream_blocks * stream_packs; i += at.threads) {
    const std::uint32_t first = (at.block_x * stream_blocks * stream_packs + i) * pack<WordT>::size;
    if (first >= p.words) return;
    store<WordT>(dst + first, tile.packs[stream_slot(i / stream_packs, i % stream_packs)], policy);
  }
}

}  // namespace halocline::backend::cuda
