// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "halocline/backend/descriptors.hpp"

/// Base conversion: parameter block, and the kernel that multiplies with scalar instructions.
namespace halocline::backend::cuda {

/// Jobs, and views of all of them together, of one launch.
inline constexpr unsigned convert_jobs = 16;
inline constexpr unsigned convert_views = 160;
/// Threads of a block.
inline constexpr unsigned convert_threads = 256;

/// Limbs that lie behind each other; `begin` is the number of the first one within its job.
template <typename WordT>
struct convert_view {
  WordT* data;
  std::uint32_t first_prime;
  std::uint32_t begin;
};

template <typename WordT>
struct convert_params {
  using word = WordT;
  struct job {
    const WordT* table;  ///< `conversion_table::data`
    std::uint32_t sources, targets;
    std::uint32_t first_target;  ///< of the table: a job may be a part of a conversion
    std::uint32_t source_view, target_view, end_view;
  };
  batch<job, convert_jobs> jobs;  ///< one row of the grid each
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  std::uint32_t tile = 0;  ///< coefficients of a block
  std::uint32_t views = 0;
  cache_hint store = cache_hint::normal;
  convert_view<WordT> view[convert_views] = {};
};

/// A limb and its prime.
template <typename WordT>
struct convert_limb {
  WordT* data;
  std::uint32_t prime;
};

/// Limb `i` of the views [first, end).
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline convert_limb<WordT> limb_of(const convert_params<WordT>& p,
                                                                       std::uint32_t first, std::uint32_t end,
                                                                       std::uint32_t i) {
  std::uint32_t v = first;
  while (v + 1 < end && i >= p.view[v + 1].begin) ++v;
  const std::uint32_t local = i - p.view[v].begin;
  return {p.view[v].data + static_cast<std::size_t>(local) * p.words, p.view[v].first_prime + local};
}

/// Step 1: y_i of a tile to shared memory, source by source.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void convert_scale_sources(const convert_params<WordT>& p, const coordinates& at,
                                                        WordT* y) {
  constexpr unsigned size = pack<WordT>::size;
  const auto& job = p.jobs.items[at.block_y];
  const std::uint32_t columns = p.tile / size;
  const std::uint32_t column = at.thread % columns, row = at.thread / columns;
  const cache_policy policy = make_policy(cache_hint::normal);
  for (std::uint32_t i = row; i < job.sources; i += at.threads / columns) {
    const auto limb = limb_of(p, job.source_view, job.target_view, i);
    const modulus<WordT> q = p.moduli[limb.prime];
    const WordT factor = job.table[i], quotient = job.table[job.sources + i];
    const std::size_t first = static_cast<std::size_t>(at.block_x) * p.tile + column * size;
    pack<WordT> x = load<WordT>(limb.data + first, policy);
    for (unsigned c = 0; c < size; ++c) {
      y[i * p.tile + column * size + c] = arith::mul_shoup(x.word[c], factor, quotient, q);
    }
  }
}

/// Step 2: v of each coefficient, behind the last y.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void convert_round(const convert_params<WordT>& p, const coordinates& at,
                                                WordT* y) {
  constexpr unsigned shift = reciprocal_shift(8 * sizeof(WordT));
  const auto& job = p.jobs.items[at.block_y];
  if (at.thread >= p.tile) return;
  double_word<WordT> fraction = double_word<WordT>{1} << (shift - 1);
  for (std::uint32_t i = 0; i < job.sources; ++i) {
    fraction += static_cast<double_word<WordT>>(y[i * p.tile + at.thread]) * job.table[2 * job.sources + i];
  }
  y[job.sources * p.tile + at.thread] = static_cast<WordT>(fraction >> shift);
}

/// Targets that a thread works on at a time, for one pack of coefficients.
inline constexpr unsigned convert_targets = 4;

/// Step 3: sums for the targets [first, first + convert_targets) and one pack of coefficients.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void convert_group(const convert_params<WordT>& p, const coordinates& at,
                                                const WordT* y, std::uint32_t first, std::uint32_t column) {
  constexpr unsigned size = pack<WordT>::size;
  const auto& job = p.jobs.items[at.block_y];
  const std::uint32_t terms = job.sources + 1;
  const WordT* const factors = job.table + 3 * job.sources + (job.first_target + first) * terms;
  modulus<WordT> q[convert_targets];
  convert_limb<WordT> limb[convert_targets];
  for (unsigned t = 0; t < convert_targets; ++t) {
    if (first + t < job.targets) limb[t] = limb_of(p, job.target_view, job.end_view, first + t);
    if (first + t >= job.targets) limb[t] = limb[0];
    q[t] = p.moduli[limb[t].prime];
  }
  double_word<WordT> sum[convert_targets][size] = {};
  std::uint32_t room = products_per_sum<WordT>;
  for (std::uint32_t i = 0; i < terms;) {
    const std::uint32_t end = i + room < terms ? i + room : terms;
    for (; i < end; ++i) {
      for (unsigned t = 0; t < convert_targets; ++t) {
        const WordT factor = first + t < job.targets ? factors[t * terms + i] : WordT{0};
        for (unsigned c = 0; c < size; ++c) {
          sum[t][c] += static_cast<double_word<WordT>>(y[i * p.tile + column * size + c]) * factor;
        }
      }
    }
    for (unsigned t = 0; t < convert_targets; ++t) {
      for (unsigned c = 0; c < size; ++c) sum[t][c] = normalise<WordT>(sum[t][c], q[t]);
    }
    room = products_per_sum<WordT> - products_per_reduction<WordT>;
  }
  const std::size_t offset = static_cast<std::size_t>(at.block_x) * p.tile + column * size;
  for (unsigned t = 0; t < convert_targets; ++t) {
    if (first + t >= job.targets) continue;
    pack<WordT> result;
    for (unsigned c = 0; c < size; ++c) result.word[c] = arith::montgomery_reduce<WordT>(sum[t][c], q[t]);
    store<WordT>(limb[t].data + offset, result, make_policy(p.store));
  }
}

/// Step 3 for all targets.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void convert_sum(const convert_params<WordT>& p, const coordinates& at,
                                              const WordT* y) {
  const std::uint32_t columns = p.tile / pack<WordT>::size;
  const std::uint32_t column = at.thread % columns, row = at.thread / columns;
  const std::uint32_t step = at.threads / columns * convert_targets;
  for (std::uint32_t first = row * convert_targets; first < p.jobs.items[at.block_y].targets; first += step) {
    convert_group(p, at, y, first, column);
  }
}

}  // namespace halocline::backend::cuda
