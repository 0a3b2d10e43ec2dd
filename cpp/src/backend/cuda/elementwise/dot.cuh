// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/elementwise/elementwise.cuh"

/// Sums of products: parameter block and body of the kernel.
namespace halocline::backend::cuda {

/// Jobs, and terms of all of them together, of one launch.
inline constexpr unsigned dot_jobs = 32;
inline constexpr unsigned dot_terms = 256;
/// Terms whose loads are under way together, and whose sum needs one normalisation.
inline constexpr unsigned dot_group = 4;

template <typename WordT>
struct dot_params {
  using word = WordT;
  struct job {
    WordT* dst;
    std::uint32_t first_prime;
    std::uint32_t first_term;
    std::uint32_t terms;
    bool accumulate;
  };
  batch<job, dot_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  std::uint32_t terms = 0;
  map_hints hints;
  const WordT* a[dot_terms] = {};
  const WordT* b[dot_terms] = {};
  std::uint8_t repeats[dot_terms] = {};  ///< each word of b stands for 2^repeats
};

/// A pack of words from `index` of a limb on, each of which stands for 2^repeat.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<WordT> load_repeated(const WordT* limb, std::uint32_t index,
                                                                     unsigned repeat, cache_policy policy) {
  if (repeat == 0) return load<WordT>(limb + index, policy);
  pack<WordT> result;
  const WordT word = limb[index >> repeat];
  for (unsigned i = 0; i < pack<WordT>::size; ++i) result.word[i] = word;
  return result;
}

/// One pack of one limb per thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void dot_body(const dot_params<WordT>& p, const coordinates& at) {
  constexpr unsigned size = pack<WordT>::size;
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * size;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const modulus<WordT> q = p.moduli[job.first_prime + local];
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  const cache_policy load_policy = make_policy(p.hints.load);
  double_word<WordT> sum[size] = {};
  for (std::uint32_t t = 0; t < job.terms; t += dot_group) {
    pack<WordT> a[dot_group], b[dot_group];
    for (unsigned g = 0; g < dot_group; ++g) {
      a[g] = b[g] = pack<WordT>{};
      if (t + g >= job.terms) continue;
      const std::uint32_t term = job.first_term + t + g;
      const std::size_t limb = static_cast<std::size_t>(local) * (p.words >> p.repeats[term]);
      a[g] = load<WordT>(p.a[term] + offset, load_policy);
      b[g] = load_repeated<WordT>(p.b[term] + limb, index, p.repeats[term], load_policy);
    }
    for (unsigned i = 0; i < size; ++i) {
      for (unsigned g = 0; g < dot_group; ++g) {
        sum[i] += static_cast<double_word<WordT>>(a[g].word[i]) * b[g].word[i];
      }
      sum[i] = normalise<WordT>(sum[i], q);
    }
  }
  pack<WordT> result{};
  if (job.accumulate) result = load<WordT>(job.dst + offset, load_policy);
  for (unsigned i = 0; i < size; ++i) {
    result.word[i] = subtract_once<WordT>(result.word[i] + reduce_wide<WordT>(sum[i], q), q.value);
  }
  store<WordT>(job.dst + offset, result, make_policy(p.hints.store));
}

}  // namespace halocline::backend::cuda
