// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/cuda/elementwise/dot.cuh"

/// Several sums over the same pairs of polynomials: parameter block and body of the kernel.
///
/// sum[r][c] = sum_t a[t][c] * b[t][r]: the giant steps r of a linear transform, c the two components of its
/// baby steps t. Each factor is read once for all sums that have it; made one by one, the sums of one matrix
/// read the baby steps from memory for every giant step and the diagonals for both components.
namespace halocline::backend::cuda {

/// Sums of a job for each component.
inline constexpr unsigned pair_rows = 4;
/// Jobs, and terms of all of them together, of one launch.
inline constexpr unsigned pair_jobs = 16;
inline constexpr unsigned pair_terms = 256;

template <typename WordT>
struct pair_params {
  using word = WordT;
  struct job {
    WordT* dst[pair_rows][2];
    std::uint32_t first_prime;
    std::uint32_t first_term;
    std::uint32_t terms;
    std::uint32_t rows;
    std::uint32_t accumulate;  ///< bit 2 r + c: add to sum r, c
    bool repeated;             ///< all factors b are repeated views, or none
  };
  batch<job, pair_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  std::uint32_t terms = 0;
  const WordT* a[pair_terms][2] = {};
  const WordT* b[pair_terms][pair_rows] = {};        ///< nullptr: the row has no such term
  std::uint8_t repeats[pair_terms][pair_rows] = {};  ///< each word of b stands for 2^repeats
};

/// Eight bytes of words: half a pack, because a thread keeps eight sums of each word.
template <typename WordT>
struct alignas(8) half_pack {
  static constexpr unsigned size = 8 / sizeof(WordT);
  WordT word[size];
};

template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline half_pack<WordT> load_half(const WordT* at) {
  return *reinterpret_cast<const half_pack<WordT>*>(at);
}

/// Half a pack from `index` of limb `local` of a factor b.
template <typename WordT, bool repeated>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline half_pack<WordT> load_weight(const pair_params<WordT>& p,
                                                                        std::uint32_t term, unsigned row,
                                                                        std::uint32_t local,
                                                                        std::uint32_t index) {
  if constexpr (!repeated) {
    return load_half<WordT>(p.b[term][row] + static_cast<std::size_t>(local) * p.words + index);
  } else {
    const unsigned repeat = p.repeats[term][row];
    const WordT word =
        p.b[term][row][static_cast<std::size_t>(local) * (p.words >> repeat) + (index >> repeat)];
    half_pack<WordT> result;
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < half_pack<WordT>::size; ++i) result.word[i] = word;
    return result;
  }
}

/// What a thread has summed up.
template <typename WordT>
using pair_sums = double_word<WordT>[pair_rows][2][half_pack<WordT>::size];

/// Adds `dot_group` products to both sums of a row, which stay normalised.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void pair_add_row(const half_pack<WordT> (*a)[2], const half_pack<WordT>* b,
                                               const modulus<WordT>& q,
                                               double_word<WordT> (*sums)[half_pack<WordT>::size]) {
  HALOCLINE_UNROLL
  for (unsigned c = 0; c < 2; ++c) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < half_pack<WordT>::size; ++i) {
      HALOCLINE_UNROLL
      for (unsigned g = 0; g < dot_group; ++g) {
        sums[c][i] += static_cast<double_word<WordT>>(a[g][c].word[i]) * b[g].word[i];
      }
      sums[c][i] = normalise<WordT>(sums[c][i], q);
    }
  }
}

/// Adds `dot_group` terms from `first` on; sums stay normalised.
template <typename WordT, bool repeated>
HALOCLINE_HOST_DEVICE inline void pair_add_group(const pair_params<WordT>& p,
                                                 const typename pair_params<WordT>::job& job,
                                                 std::uint32_t first, std::uint32_t local,
                                                 std::uint32_t index, const modulus<WordT>& q,
                                                 pair_sums<WordT>& sums) {
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  half_pack<WordT> a[dot_group][2], b[pair_rows][dot_group];
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < dot_group; ++g) {
    a[g][0] = a[g][1] = half_pack<WordT>{};
    if (first + g >= job.terms) continue;
    const std::uint32_t term = job.first_term + first + g;
    a[g][0] = load_half<WordT>(p.a[term][0] + offset);
    a[g][1] = load_half<WordT>(p.a[term][1] + offset);
  }
  HALOCLINE_UNROLL
  for (unsigned r = 0; r < pair_rows; ++r) {
    HALOCLINE_UNROLL
    for (unsigned g = 0; g < dot_group; ++g) {
      b[r][g] = half_pack<WordT>{};
      const std::uint32_t term = job.first_term + first + g;
      if (first + g < job.terms && r < job.rows && p.b[term][r] != nullptr) {
        b[r][g] = load_weight<WordT, repeated>(p, term, r, local, index);
      }
    }
  }
  HALOCLINE_UNROLL
  for (unsigned r = 0; r < pair_rows; ++r) pair_add_row<WordT>(a, b[r], q, sums[r]);
}

/// Half a pack of one limb of all sums of a job per thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void pair_body(const pair_params<WordT>& p, const coordinates& at) {
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * half_pack<WordT>::size;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const modulus<WordT> q = p.moduli[job.first_prime + local];
  pair_sums<WordT> sums = {};
  if (job.repeated) {
    for (std::uint32_t t = 0; t < job.terms; t += dot_group) {
      pair_add_group<WordT, true>(p, job, t, local, index, q, sums);
    }
  } else {
    for (std::uint32_t t = 0; t < job.terms; t += dot_group) {
      pair_add_group<WordT, false>(p, job, t, local, index, q, sums);
    }
  }
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  HALOCLINE_UNROLL
  for (unsigned r = 0; r < pair_rows; ++r) {
    if (r >= job.rows) continue;
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      WordT* const dst = job.dst[r][c] + offset;
      half_pack<WordT> result{};
      if ((job.accumulate >> (2 * r + c) & 1) != 0) result = load_half<WordT>(dst);
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < half_pack<WordT>::size; ++i) {
        const WordT sum = reduce_wide<WordT>(sums[r][c][i], q);
        result.word[i] = subtract_once<WordT>(result.word[i] + sum, q.value);
      }
      *reinterpret_cast<half_pack<WordT>*>(dst) = result;
    }
  }
}

}  // namespace halocline::backend::cuda
