// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/key/galois_map.cuh"
#include "halocline/backend/key_jobs.hpp"

/// Weighted sums of key products: parameter block and body of the kernel. A thread computes some words of all
/// sums of a limb, and for each term the words of the key product that an automorphism brings there. Within
/// aligned blocks of 32 words automorphisms only reorder (`automorphism_job`), so a warp reads whole lines.
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
    std::uint32_t plus;  ///< bits 0 and 1: has the addends of the job
  };
  /// What all jobs of a launch have in common.
  struct shared {
    std::uint32_t terms = 0;
    std::uint32_t sums = 0;
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
  WordT factor[key_dot_limbs] = {};  ///< by limb of the launch
};
static_assert(sizeof(key_dot_params<std::uint64_t>) <= 32764, "parameters of a kernel");

/// Digits whose loads are under way together.
inline constexpr unsigned key_dot_group = 4;

/// Both sums of one term for `words` words, reduced.
template <typename WordT, unsigned words>
struct key_dot_products {
  WordT half[2][words];
};

/// Where a thread works: a limb of a job, the first of its words, and what is between them.
template <typename WordT>
struct key_dot_place {
  const typename key_dot_params<WordT>::job& job;
  modulus<WordT> q;
  std::uint32_t local;  ///< limb of the job
  std::uint32_t limb;   ///< of the launch
  std::uint32_t first;
  std::uint32_t stride;
};

template <typename WordT, unsigned words>
HALOCLINE_HOST_DEVICE inline void key_dot_add(const key_dot_params<WordT>& p,
                                              const key_dot_place<WordT>& place,
                                              const typename key_dot_params<WordT>::term& term,
                                              const std::uint32_t (&from)[words],
                                              double_word<WordT> (&sum)[2][words]) {
  const cache_policy key_policy = make_policy(p.keys), data_policy = make_policy(p.data);
  const std::size_t limb = static_cast<std::size_t>(place.local) * p.words;
  const std::size_t key_limb = static_cast<std::size_t>(place.job.first_prime + place.local) * p.words;
  for (std::uint32_t t = 0; t < term.keys; t += key_dot_group) {
    WordT d[key_dot_group][words], b[key_dot_group][words], a[key_dot_group][words];
    HALOCLINE_UNROLL
    for (unsigned g = 0; g < key_dot_group; ++g) {
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < words; ++r) d[g][r] = b[g][r] = a[g][r] = 0;
      if (t + g >= term.keys) continue;
      const auto& key = p.all.key_list[term.first_key + t + g];
      const WordT* const digit = p.digit_list[place.job.first_digit + t + g];
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < words; ++r) {
        b[g][r] = load_word<WordT>(key.b + key_limb + from[r], key_policy);
        a[g][r] = load_word<WordT>(key.a + key_limb + from[r], key_policy);
        d[g][r] = load_word<WordT>(digit + limb + from[r], data_policy);
      }
    }
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < words; ++r) {
      HALOCLINE_UNROLL
      for (unsigned g = 0; g < key_dot_group; ++g) {
        sum[0][r] += static_cast<double_word<WordT>>(d[g][r]) * b[g][r];
        sum[1][r] += static_cast<double_word<WordT>>(d[g][r]) * a[g][r];
      }
      if (term.keys > key_dot_group) {
        sum[0][r] = normalise<WordT>(sum[0][r], place.q);
        sum[1][r] = normalise<WordT>(sum[1][r], place.q);
      }
    }
  }
}

/// The key product of a term, through its permutation.
template <typename WordT, unsigned words>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_products<WordT, words> key_dot_term(
    const key_dot_params<WordT>& p, const key_dot_place<WordT>& place,
    const typename key_dot_params<WordT>::term& term) {
  std::uint32_t from[words];
  HALOCLINE_UNROLL
  for (unsigned r = 0; r < words; ++r) from[r] = place.first + r * place.stride;
  if (term.permutation != nullptr) {
    const galois_map map{*term.permutation, p.log_words};
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < words; ++r) from[r] = map(from[r]);
  }
  double_word<WordT> sum[2][words] = {};
  key_dot_add<WordT, words>(p, place, term, from, sum);
  key_dot_products<WordT, words> result;
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < words; ++r) {
      result.half[h][r] = arith::montgomery_reduce<WordT>(sum[h][r], place.q);
      if ((term.plus >> h & 1) == 0) continue;
      const WordT plus = place.job.plus[h][static_cast<std::size_t>(place.local) * p.words + from[r]];
      result.half[h][r] = subtract_once<WordT>(
          result.half[h][r] + arith::mul_mod(plus, p.factor[place.limb], place.q), place.q.value);
    }
  }
  return result;
}

/// Adds a term to all sums that have it.
template <typename WordT, unsigned sums, unsigned words>
HALOCLINE_HOST_DEVICE inline void key_dot_weigh(const key_dot_params<WordT>& p,
                                                const key_dot_place<WordT>& place, std::uint32_t term,
                                                const key_dot_products<WordT, words>& product,
                                                double_word<WordT> (&total)[sums][2][words]) {
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < sums; ++s) {
    const std::uint32_t number = s * p.all.terms + term;
    if (s >= p.all.sums || p.all.weights[number] == nullptr) continue;
    const unsigned repeat = p.all.repeats[number];
    const WordT* const weights =
        p.all.weights[number] +
        static_cast<std::size_t>(place.job.weight_limb + place.local) * (p.words >> repeat);
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < words; ++r) {
      const WordT weight = weights[(place.first + r * place.stride) >> repeat];
      total[s][0][r] += static_cast<double_word<WordT>>(product.half[0][r]) * weight;
      total[s][1][r] += static_cast<double_word<WordT>>(product.half[1][r]) * weight;
    }
  }
}

/// Terms between two normalisations of the sums: one leaves `products_per_reduction` products.
template <typename WordT>
inline constexpr std::uint32_t key_dot_between = products_per_sum<WordT> - products_per_reduction<WordT>;

/// Some words of at most `sums` sums: each thread has `words` of them, a block's threads apart.
template <typename WordT, unsigned sums, unsigned words>
HALOCLINE_HOST_DEVICE inline void key_dot_body(const key_dot_params<WordT>& p, const coordinates& at) {
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const std::uint32_t first = at.block_x * at.threads * words + at.thread;
  if (first >= p.words) return;
  const key_dot_place<WordT> place{job,       p.moduli[job.first_prime + local], local, at.block_y, first,
                                   at.threads};
  double_word<WordT> total[sums][2][words] = {};
  std::uint32_t left = products_per_sum<WordT>;
  for (std::uint32_t t = 0; t < p.all.terms; ++t) {
    const auto product = key_dot_term<WordT, words>(p, place, p.all.term_list[t]);
    if (left == 0) {
      HALOCLINE_UNROLL
      for (auto& sum : total) {
        HALOCLINE_UNROLL
        for (auto& half : sum) {
          HALOCLINE_UNROLL
          for (auto& word : half) word = normalise<WordT>(word, place.q);
        }
      }
      left = key_dot_between<WordT>;
    }
    --left;
    key_dot_weigh<WordT, sums, words>(p, place, t, product, total);
  }
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < sums; ++s) {
    if (s >= p.all.sums) continue;
    HALOCLINE_UNROLL
    for (unsigned h = 0; h < 2; ++h) {
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < words; ++r) {
        WordT& dst = job.dst[s][h][static_cast<std::size_t>(local) * p.words + first + r * at.threads];
        const WordT sum = reduce_wide<WordT>(normalise<WordT>(total[s][h][r], place.q), place.q);
        dst = (job.accumulate >> s & 1) != 0 ? subtract_once<WordT>(sum + dst, place.q.value) : sum;
      }
    }
  }
}

}  // namespace halocline::backend::cuda
