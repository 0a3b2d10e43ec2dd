// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "halocline/backend/key_jobs.hpp"

/// Weighted sums of key products: the parameter block of `key_dot.cuh`, whose kernel works so. A thread
/// computes two words of all sums of a limb, and for each term the two words of the key product that an
/// automorphism brings there. Of aligned blocks of words automorphisms only change the order
/// (`automorphism_job`), so two words come from two words, and a warp reads whole lines.
namespace halocline::backend::cuda {

/// Jobs, terms, keys of all terms, sums of a job, weights, digits of all jobs and limbs of one launch.
inline constexpr unsigned key_dot_jobs = 16;
inline constexpr unsigned key_dot_terms = 32;
inline constexpr unsigned key_dot_keys = most_dot_digits;
inline constexpr unsigned key_dot_sums = 8;
inline constexpr unsigned key_dot_weights = 128;
inline constexpr unsigned key_dot_digits = 64;
inline constexpr unsigned key_dot_limbs = 256;

template <typename WordT>
struct key_dot_params {
  using word = WordT;
  struct job {
    WordT* dst[key_dot_sums][2];
    const WordT* plus[2];  ///< addends of the terms that have them
    std::uint32_t first_prime;
    std::uint32_t first_digit;
    std::uint32_t weight_limb;  ///< of the buffers of weights, for the first limb of the job
    std::uint32_t accumulate;   ///< a bit for each sum
  };
  /// A pair of halves of a key, from prime 0 on.
  struct key {
    const WordT* b;
    const WordT* a;
  };
  struct term {
    const std::uint32_t* permutation;  ///< nullptr: none
    std::uint32_t first_key;
    std::uint32_t keys;  ///< as many as a job has digits, or 0
    std::uint32_t plus;  ///< bits 0 and 1: takes the addends of a job that has them
  };
  /// What all jobs of a launch have in common.
  struct shared {
    std::uint32_t terms = 0;
    std::uint32_t sums = 0;
    std::uint32_t most_keys = 0;  ///< of a term
    term term_list[key_dot_terms] = {};
    key key_list[key_dot_keys] = {};
    const WordT* weights[key_dot_weights] = {};  ///< by sum, then by term; nullptr: the sum lacks the term
    std::uint8_t repeats[key_dot_weights] = {};  ///< each word of a weight stands for 2^repeats
  };
  batch<job, key_dot_jobs> jobs;
  shared all;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  std::uint32_t log_words = 0;
  std::uint32_t digits = 0;
  cache_hint keys = cache_hint::evict_first;
  cache_hint data = cache_hint::normal;
  const WordT* digit_list[key_dot_digits] = {};
  WordT factor[key_dot_limbs] = {};  ///< by limb of the launch, in Montgomery form
};
static_assert(sizeof(key_dot_params<std::uint64_t>) <= 32764, "parameters of a kernel");

}  // namespace halocline::backend::cuda
