// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/key/galois_map.cuh"
#include "backend/cuda/key/key_dot_params.cuh"

/// What a thread of a weighted sum of key products reads, and the products of its keys.
namespace halocline::backend::cuda {

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

}  // namespace halocline::backend::cuda
