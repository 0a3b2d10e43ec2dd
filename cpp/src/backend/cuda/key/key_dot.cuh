// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/key_dot_terms.cuh"

/// Weighted sums of key products: the body of the kernel.
namespace halocline::backend::cuda {

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
