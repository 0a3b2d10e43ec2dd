// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/elementwise.cuh"

/// Sums of products: parameter block and body of the kernel.
namespace halocline::backend::cuda {

/// Jobs, and terms of all of them together, of one launch.
inline constexpr unsigned dot_jobs = 32;
inline constexpr unsigned dot_terms = 256;
/// Sums over the same factors that a thread makes together.
inline constexpr unsigned dot_outputs = 4;
/// Terms whose loads are under way together, and whose sum needs one normalisation.
inline constexpr unsigned dot_group = 4;

/// A job of a launch is up to `dot_outputs` sums over the same factors a, which are then read once.
template <typename WordT>
struct dot_params {
  using word = WordT;
  struct job {
    WordT* dst[dot_outputs];
    std::uint32_t first_prime;
    std::uint32_t first_term;
    std::uint32_t terms;
    std::uint32_t outputs;
    std::uint32_t accumulate;  ///< bit o: add to output o
  };
  batch<job, dot_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  std::uint32_t terms = 0;
  std::uint32_t most_outputs = 0;  ///< of a job
  map_hints hints;
  const WordT* a[dot_terms] = {};
  const WordT* b[dot_terms][dot_outputs] = {};        ///< nullptr: the sum has no such term
  std::uint8_t repeats[dot_terms][dot_outputs] = {};  ///< each word of b stands for 2^repeats
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

/// Adds the products of `dot_group` terms from `first` on to the sums, which stay normalised.
template <typename WordT, unsigned outputs>
HALOCLINE_HOST_DEVICE inline void dot_add_group(const dot_params<WordT>& p,
                                                const typename dot_params<WordT>::job& job,
                                                std::uint32_t first, std::uint32_t local, std::uint32_t index,
                                                const modulus<WordT>& q,
                                                double_word<WordT> (*sum)[pack<WordT>::size]) {
  constexpr unsigned size = pack<WordT>::size;
  const cache_policy policy = make_policy(p.hints.load);
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  pack<WordT> a[dot_group];
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < dot_group; ++g) {
    a[g] = pack<WordT>{};
    if (first + g < job.terms) a[g] = load<WordT>(p.a[job.first_term + first + g] + offset, policy);
  }
  HALOCLINE_UNROLL
  for (unsigned o = 0; o < outputs; ++o) {
    if (o >= job.outputs) continue;
    pack<WordT> b[dot_group];
    HALOCLINE_UNROLL
    for (unsigned g = 0; g < dot_group; ++g) {
      b[g] = pack<WordT>{};
      if (first + g >= job.terms) continue;
      const std::uint32_t term = job.first_term + first + g;
      if (outputs > 1 && p.b[term][o] == nullptr) continue;
      const unsigned repeat = p.repeats[term][o];
      const std::size_t limb = static_cast<std::size_t>(local) * (p.words >> repeat);
      b[g] = load_repeated<WordT>(p.b[term][o] + limb, index, repeat, policy);
    }
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < size; ++i) {
      HALOCLINE_UNROLL
      for (unsigned g = 0; g < dot_group; ++g) {
        sum[o][i] += static_cast<double_word<WordT>>(a[g].word[i]) * b[g].word[i];
      }
      sum[o][i] = normalise<WordT>(sum[o][i], q);
    }
  }
}

/// One pack of one limb of all sums of a job per thread; `outputs` is at least that of the job.
template <typename WordT, unsigned outputs>
HALOCLINE_HOST_DEVICE inline void dot_body(const dot_params<WordT>& p, const coordinates& at) {
  constexpr unsigned size = pack<WordT>::size;
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * size;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const modulus<WordT> q = p.moduli[job.first_prime + local];
  double_word<WordT> sum[outputs][size] = {};
  for (std::uint32_t t = 0; t < job.terms; t += dot_group) {
    dot_add_group<WordT, outputs>(p, job, t, local, index, q, sum);
  }
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  HALOCLINE_UNROLL
  for (unsigned o = 0; o < outputs; ++o) {
    if (o >= job.outputs) continue;
    pack<WordT> result{};
    if ((job.accumulate >> o & 1) != 0) {
      result = load<WordT>(job.dst[o] + offset, make_policy(p.hints.load));
    }
    for (unsigned i = 0; i < size; ++i) {
      result.word[i] = subtract_once<WordT>(result.word[i] + reduce_wide<WordT>(sum[o][i], q), q.value);
    }
    store<WordT>(job.dst[o] + offset, result, make_policy(p.hints.store));
  }
}

}  // namespace halocline::backend::cuda
