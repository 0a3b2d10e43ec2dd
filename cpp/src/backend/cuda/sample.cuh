// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/arith.cuh"
#include "backend/cuda/batch.hpp"
#include "backend/cuda/elementwise_access.cuh"
#include "halocline/ring/uniform_stream.hpp"

/// Encoding of integers and seeded uniform residues: parameter blocks and bodies of the kernels.
namespace halocline::backend::cuda {

inline constexpr unsigned encode_jobs = 64;
inline constexpr unsigned sample_jobs = 64;
/// Limbs that one thread makes of the coefficients it has read.
inline constexpr unsigned encode_limbs = 8;

/// Residue whose first candidate was rejected.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE HALOCLINE_RARE WordT retry(const ring::chacha_key& key,
                                                               std::uint32_t stream, std::uint32_t prime,
                                                               std::size_t i, const modulus<WordT>& q) {
  return ring::uniform_word(key, stream, prime, i, q, 1);
}

/// Residue of a word of the key stream: the candidate of attempt 0, or what further attempts yield.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline WordT accept(WordT candidate, const ring::chacha_key& key,
                                                        std::uint32_t stream, std::uint32_t prime,
                                                        std::size_t i, const modulus<WordT>& q) {
  candidate &= ring::candidate_mask(q);
  if (candidate < q.value) return candidate;
  return retry(key, stream, prime, i, q);
}

/// Pack `k` of block `counter` of a key stream, as residues.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<WordT> expand_pack(const ring::chacha_block& block,
                                                                   unsigned k, const ring::chacha_key& key,
                                                                   const ring::stream_nonce& nonce,
                                                                   std::uint32_t counter,
                                                                   const modulus<WordT>& q) {
  constexpr unsigned size = pack<WordT>::size;
  const std::size_t first = static_cast<std::size_t>(counter) * ring::words_per_block<WordT> + k * size;
  pack<WordT> result;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < size; ++i) {
    result.word[i] = accept<WordT>(ring::block_word<WordT>(block, k * size + i), key, nonce.stream,
                                   nonce.prime, first + i, q);
  }
  return result;
}

template <typename WordT>
struct encode_params {
  using word = WordT;
  struct job {
    WordT* dst;
    const std::uint64_t* coefficients;
    std::uint32_t first_prime;
    std::uint32_t limbs;
    std::uint32_t words;  ///< of 64 bits, per coefficient
  };
  batch<job, encode_jobs> jobs;  ///< rows are groups of `encode_limbs` limbs
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  cache_hint store = cache_hint::normal;

  template <typename F>
  void for_each_pointer(F&& f) {
    f(moduli);
    for (std::uint32_t j = 0; j < jobs.jobs; ++j) {
      f(jobs.items[j].dst);
      f(jobs.items[j].coefficients);
    }
  }
};

/// Residue of a two's complement integer of `count` words: sum of x_i 2^(w i), minus 2^(w count) when it is
/// negative. Powers of 2^w come from one another by Montgomery products.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline WordT signed_words_mod(const WordT* x, unsigned count,
                                                                  const modulus<WordT>& q) {
  using wide = double_word<WordT>;
  constexpr unsigned w = 8 * sizeof(WordT);
  WordT power = q.r;  // 2^(w (i + 1)), so that a reduction leaves x_i 2^(w i)
  WordT sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (i != 0) power = ring::montgomery_reduce<WordT>(static_cast<wide>(power) * q.r2, q);
    sum = subtract_once<WordT>(sum + ring::montgomery_reduce<WordT>(static_cast<wide>(x[i]) * power, q),
                               q.value);
  }
  return x[count - 1] >> (w - 1) != 0 ? ring::sub_mod(sum, power, q) : sum;
}

/// One pack of coefficients and `encode_limbs` limbs per thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void encode_body(const encode_params<WordT>& p, const coordinates& at) {
  constexpr unsigned size = pack<WordT>::size;
  constexpr unsigned words_of_64 = 8 / sizeof(WordT);
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * size;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t first = (at.block_y - p.jobs.begin[number]) * encode_limbs;
  WordT x[size][2 * words_of_64] = {};
  for (unsigned c = 0; c < size; ++c) {
    for (unsigned i = 0; i < 2; ++i) {
      if (i >= job.words) continue;
      const std::uint64_t value = job.coefficients[static_cast<std::size_t>(index + c) * job.words + i];
      x[c][i * words_of_64] = static_cast<WordT>(value);
      if constexpr (words_of_64 == 2) x[c][2 * i + 1] = static_cast<WordT>(value >> 32);
    }
  }
  for (unsigned l = 0; l < encode_limbs; ++l) {
    if (first + l >= job.limbs) return;
    const modulus<WordT> q = p.moduli[job.first_prime + first + l];
    pack<WordT> result;
    for (unsigned c = 0; c < size; ++c) {
      result.word[c] = job.words == 1 ? signed_words_mod<WordT>(x[c], words_of_64, q)
                                      : signed_words_mod<WordT>(x[c], 2 * words_of_64, q);
    }
    store<WordT>(job.dst + static_cast<std::size_t>(first + l) * p.words + index, result,
                 make_policy(p.store));
  }
}

template <typename WordT>
struct sample_params {
  using word = WordT;
  struct job {
    WordT* dst;
    ring::chacha_key key;
    std::uint32_t stream;
    std::uint32_t first_prime;
  };
  batch<job, sample_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  cache_hint store = cache_hint::normal;

  template <typename F>
  void for_each_pointer(F&& f) {
    f(moduli);
    for (std::uint32_t j = 0; j < jobs.jobs; ++j) f(jobs.items[j].dst);
  }
};

/// One block of the key stream per thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void sample_body(const sample_params<WordT>& p, const coordinates& at) {
  constexpr unsigned per_block = ring::words_per_block<WordT>;
  constexpr unsigned size = pack<WordT>::size;
  const std::uint32_t counter = at.block_x * at.threads + at.thread;
  if (counter * per_block >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const std::uint32_t prime = job.first_prime + local;
  const modulus<WordT> q = p.moduli[prime];
  const ring::stream_nonce nonce{job.stream, prime, 0};
  const ring::chacha_block block = ring::chacha20(job.key, counter, nonce);
  WordT* const dst = job.dst + static_cast<std::size_t>(local) * p.words + counter * per_block;
  HALOCLINE_UNROLL
  for (unsigned first = 0; first < per_block; first += size) {
    pack<WordT> result;
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < size; ++c) {
      const WordT candidate = ring::block_word<WordT>(block, first + c);
      result.word[c] = accept<WordT>(candidate, job.key, job.stream, prime,
                                     static_cast<std::size_t>(counter) * per_block + first + c, q);
    }
    store<WordT>(dst + first, result, make_policy(p.store));
  }
}

}  // namespace halocline::backend::cuda
