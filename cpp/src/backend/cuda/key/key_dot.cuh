// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/key/galois_map.cuh"
#include "halocline/backend/key_jobs.hpp"

/// Weighted sums of key products: parameter block and body of the kernel. A thread computes two words of all
/// sums of a limb, and for each term the two words of the key product that an automorphism brings there. Of
/// aligned blocks of words automorphisms only change the order (`automorphism_job`), so two words come from
/// two words, and a warp reads whole lines.
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

/// Keys whose loads are under way together: of one term, or of several with few digits.
inline constexpr unsigned key_dot_slots = 4;

/// Where a thread works: a limb of a job, and the first of its two words.
template <typename WordT>
struct key_dot_place {
  const typename key_dot_params<WordT>::job& job;
  modulus<WordT> q;
  std::uint32_t local;  ///< limb of the job
  std::uint32_t limb;   ///< of the launch
  std::uint32_t first;
};

/// Where the words of a term come from: two words from an even one on, in this order or the other one.
struct key_dot_origin {
  std::uint32_t first;
  bool swapped;
};

[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_origin origin_of(const std::uint32_t* permutation,
                                                                    std::uint32_t first,
                                                                    std::uint32_t log_words) {
  if (permutation == nullptr) return {first, false};
  const std::uint32_t from = galois_map{*permutation, log_words}(first);
  return {from & ~1U, (from & 1) != 0};
}

/// What a thread reads for `count` keys.
template <typename WordT, unsigned count>
struct key_dot_operands {
  word_pair<WordT> d[count], b[count], a[count];
};

/// Keys [first, first + count) of a term, as far as it has them.
template <typename WordT, unsigned count>
HALOCLINE_HOST_DEVICE inline void key_dot_load(const key_dot_params<WordT>& p,
                                               const key_dot_place<WordT>& place,
                                               const typename key_dot_params<WordT>::term& term,
                                               std::uint32_t first, std::uint32_t from,
                                               key_dot_operands<WordT, count>& to) {
  const cache_policy key_policy = make_policy(p.keys), data_policy = make_policy(p.data);
  const std::size_t limb = static_cast<std::size_t>(place.local) * p.words + from;
  const std::size_t key_limb = static_cast<std::size_t>(place.job.first_prime + place.local) * p.words + from;
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < count; ++g) {
    to.d[g] = to.b[g] = to.a[g] = word_pair<WordT>{};
    if (first + g >= term.keys) continue;
    const auto& key = p.all.key_list[term.first_key + first + g];
    to.b[g] = load_pair<WordT>(key.b + key_limb, key_policy);
    to.a[g] = load_pair<WordT>(key.a + key_limb, key_policy);
    to.d[g] = load_pair<WordT>(p.digit_list[place.job.first_digit + first + g] + limb, data_policy);
  }
}

template <typename WordT>
using key_dot_sum = double_word<WordT>[2][2];

template <typename WordT, unsigned count>
HALOCLINE_HOST_DEVICE inline void key_dot_multiply(const key_dot_operands<WordT, count>& of,
                                                   key_dot_sum<WordT>& sum) {
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < count; ++g) {
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < 2; ++r) {
      sum[0][r] += static_cast<double_word<WordT>>(of.d[g].word[r]) * of.b[g].word[r];
      sum[1][r] += static_cast<double_word<WordT>>(of.d[g].word[r]) * of.a[g].word[r];
    }
  }
}

template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_dot_normalise(key_dot_sum<WordT>& sum, const modulus<WordT>& q) {
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < 2; ++r) sum[h][r] = normalise<WordT>(sum[h][r], q);
  }
}

/// Adds the addends to the sum of a term and gives its key product, in the order of the results.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_dot_reduce(const key_dot_params<WordT>& p,
                                                 const key_dot_place<WordT>& place,
                                                 const typename key_dot_params<WordT>::term& term,
                                                 const key_dot_origin& origin, key_dot_sum<WordT>& sum,
                                                 WordT (&product)[2][2]) {
  const std::size_t limb = static_cast<std::size_t>(place.local) * p.words + origin.first;
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    if ((term.plus >> h & 1) != 0 && place.job.plus[h] != nullptr) {
      const auto plus = load_pair<WordT>(place.job.plus[h] + limb, make_policy(p.data));
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < 2; ++r) {
        sum[h][r] += static_cast<double_word<WordT>>(plus.word[r]) * p.factor[place.limb];
        sum[h][r] = normalise<WordT>(sum[h][r], place.q);
      }
    }
    const WordT first = arith::montgomery_reduce<WordT>(sum[h][0], place.q);
    const WordT second = arith::montgomery_reduce<WordT>(sum[h][1], place.q);
    product[h][0] = origin.swapped ? second : first;
    product[h][1] = origin.swapped ? first : second;
  }
}

/// Weights of a term in all sums, 0 where a sum lacks it. They are read without branches, so that all are
/// under way together.
template <typename WordT, unsigned sums>
struct key_dot_weighing {
  WordT weight[sums][2];
};

template <typename WordT, unsigned sums>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_weighing<WordT, sums> load_weights(
    const key_dot_params<WordT>& p, const key_dot_place<WordT>& place, std::uint32_t term) {
  key_dot_weighing<WordT, sums> result;
  const std::uint32_t limb = place.job.weight_limb + place.local;
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < sums; ++s) {
    const std::uint32_t number = s * p.all.terms + term;
    const bool there = s < p.all.sums && p.all.weights[number] != nullptr;
    const unsigned repeat = there ? p.all.repeats[number] : 0;
    const WordT* const weights =
        there ? p.all.weights[number] + static_cast<std::size_t>(limb) * (p.words >> repeat) : nullptr;
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < 2; ++r) result.weight[s][r] = there ? weights[(place.first + r) >> repeat] : 0;
  }
  return result;
}

/// Adds a term to all sums.
template <typename WordT, unsigned sums>
HALOCLINE_HOST_DEVICE inline void key_dot_weigh(const key_dot_weighing<WordT, sums>& of,
                                                const WordT (&product)[2][2],
                                                key_dot_sum<WordT> (&total)[sums]) {
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < sums; ++s) {
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < 2; ++r) {
      total[s][0][r] += static_cast<double_word<WordT>>(product[0][r]) * of.weight[s][r];
      total[s][1][r] += static_cast<double_word<WordT>>(product[1][r]) * of.weight[s][r];
    }
  }
}

/// Terms [first, first + at_once), whose loads are under way together.
template <typename WordT, unsigned sums, unsigned at_once>
HALOCLINE_HOST_DEVICE inline void key_dot_terms_of(const key_dot_params<WordT>& p,
                                                   const key_dot_place<WordT>& place, std::uint32_t first,
                                                   key_dot_sum<WordT> (&total)[sums]) {
  constexpr unsigned count = key_dot_slots / at_once;
  key_dot_operands<WordT, count> operands[at_once];
  key_dot_origin origin[at_once];
  HALOCLINE_UNROLL
  for (unsigned u = 0; u < at_once; ++u) {
    if (first + u >= p.all.terms) continue;
    const auto& term = p.all.term_list[first + u];
    origin[u] = origin_of(term.permutation, place.first, p.log_words);
    key_dot_load<WordT, count>(p, place, term, 0, origin[u].first, operands[u]);
  }
  HALOCLINE_UNROLL
  for (unsigned u = 0; u < at_once; ++u) {
    if (first + u >= p.all.terms) continue;
    const auto& term = p.all.term_list[first + u];
    const key_dot_weighing<WordT, sums> weights = load_weights<WordT, sums>(p, place, first + u);
    key_dot_sum<WordT> sum = {};
    key_dot_multiply<WordT, count>(operands[u], sum);
    for (std::uint32_t t = count; t < term.keys; t += count) {
      key_dot_normalise<WordT>(sum, place.q);
      key_dot_load<WordT, count>(p, place, term, t, origin[u].first, operands[u]);
      key_dot_multiply<WordT, count>(operands[u], sum);
      key_dot_normalise<WordT>(sum, place.q);
    }
    WordT product[2][2];
    key_dot_reduce<WordT>(p, place, term, origin[u], sum, product);
    key_dot_weigh<WordT, sums>(weights, product, total);
  }
}

/// Terms between two normalisations of the sums, which leave `products_per_reduction` products.
template <typename WordT>
inline constexpr std::uint32_t key_dot_between = products_per_sum<WordT> - products_per_reduction<WordT>;

/// Two words of at most `sums` sums. A launch with `at_once` above 1 has no term of more than
/// `key_dot_slots / at_once` keys.
template <typename WordT, unsigned sums, unsigned at_once>
HALOCLINE_HOST_DEVICE inline void key_dot_body(const key_dot_params<WordT>& p, const coordinates& at) {
  static_assert(key_dot_between<WordT> % key_dot_slots == 0);
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const std::uint32_t first = 2 * (at.block_x * at.threads + at.thread);
  if (first >= p.words) return;
  const key_dot_place<WordT> place{job, p.moduli[job.first_prime + local], local, at.block_y, first};
  key_dot_sum<WordT> total[sums] = {};
  for (std::uint32_t t = 0; t < p.all.terms; t += at_once) {
    if (t != 0 && t % key_dot_between<WordT> == 0) {
      HALOCLINE_UNROLL
      for (unsigned s = 0; s < sums; ++s) key_dot_normalise<WordT>(total[s], place.q);
    }
    key_dot_terms_of<WordT, sums, at_once>(p, place, t, total);
  }
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < sums; ++s) {
    if (s >= p.all.sums) continue;
    key_dot_normalise<WordT>(total[s], place.q);
    HALOCLINE_UNROLL
    for (unsigned h = 0; h < 2; ++h) {
      WordT* const dst = job.dst[s][h] + static_cast<std::size_t>(local) * p.words + first;
      word_pair<WordT> result;
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < 2; ++r) {
        result.word[r] = reduce_wide<WordT>(total[s][h][r], place.q);
        if ((job.accumulate >> s & 1) != 0) {
          result.word[r] = subtract_once<WordT>(result.word[r] + dst[r], place.q.value);
        }
      }
      store_pair<WordT>(dst, result);
    }
  }
}

}  // namespace halocline::backend::cuda
