// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/cuda/convert/convert_mma.cuh"
#include "backend/cuda/elementwise/elementwise_plan.hpp"

namespace halocline::backend::cuda {

/// Shared memory that a block of the scalar kernel may use.
inline constexpr std::size_t convert_shared_bytes = std::size_t{40} << 10;

/// Coefficients of a tile with that many sources: as many as shared memory and the block's threads allow.
template <typename WordT>
[[nodiscard]] constexpr std::uint32_t convert_tile(std::uint32_t sources, std::uint32_t words) {
  std::uint32_t tile = convert_threads;
  while ((sources + 1) * tile * sizeof(WordT) > convert_shared_bytes) tile /= 2;
  return std::min(tile, words);
}

/// Most sources of the jobs of a launch.
template <typename WordT>
[[nodiscard]] std::uint32_t most_sources(const convert_params<WordT>& p) {
  std::uint32_t most = 0;
  for (std::uint32_t j = 0; j < p.jobs.jobs; ++j) most = std::max(most, p.jobs.items[j].sources);
  return most;
}

/// Most targets of the jobs of a launch.
template <typename WordT>
[[nodiscard]] std::uint32_t most_targets(const convert_params<WordT>& p) {
  std::uint32_t most = 0;
  for (std::uint32_t j = 0; j < p.jobs.jobs; ++j) most = std::max(most, p.jobs.items[j].targets);
  return most;
}

/// Steps of matrix instructions for a launch, or 0 when it needs the scalar kernel.
template <typename WordT>
[[nodiscard]] std::uint32_t mma_steps(const convert_params<WordT>& p) {
  if (sizeof(WordT) != 4 || p.words < mma_coefficients) return 0;
  const std::uint32_t steps = (most_sources(p) + mma_step) / mma_step;  // one more for v
  return steps <= mma_max_steps ? steps : 0;
}

/// Coefficients of a block of the matrix kernel: many, because each block computes its matrices first, unless
/// that leaves multiprocessors idle.
[[nodiscard]] inline std::uint32_t mma_tile(std::uint32_t words, std::uint32_t rows,
                                            std::uint32_t wanted_blocks) {
  constexpr std::uint32_t least = convert_threads / 32 * mma_coefficients, most = 4 * least;
  std::uint32_t tile = most;
  while (tile > least && words / tile * rows < wanted_blocks) tile /= 2;
  return std::min(tile, words);
}

/// Plans base conversions. A job with more target views than a block of parameters holds is cut.
template <typename WordT, typename EmitT>
void plan_convert(const resolver<WordT>& resolve, cache_hint store, std::span<const convert_job> jobs,
                  const EmitT& emit) {
  using params = convert_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.tile = convert_tile<WordT>(1, empty.words);
  empty.store = store;
  job_packer<params, EmitT> packer(empty, emit);
  const auto add_view = [&](const limb_view& view, std::uint32_t& limbs) {
    params& p = packer.params();
    p.view[p.views++] = {resolve.limb(view), view.primes.first, limbs};
    limbs += view.primes.count;
  };
  for (const convert_job& each : jobs) {
    std::uint32_t first_target = 0;
    for (std::size_t view = 0; view < each.dst.size();) {
      if (packer.params().jobs.jobs == convert_jobs ||
          packer.params().views + each.src.size() + 1 > convert_views)
        packer.flush();
      params& p = packer.params();
      const std::uint32_t source_view = p.views;
      std::uint32_t sources = 0, targets = 0;
      for (const limb_view& src : each.src) add_view(src, sources);
      const std::uint32_t target_view = p.views;
      while (view < each.dst.size() && p.views < convert_views) add_view(each.dst[view++], targets);
      p.tile = std::min(p.tile, convert_tile<WordT>(sources, p.words));
      packer.add({resolve.template raw<WordT>(each.table->data), sources, targets, first_target, source_view,
                  target_view, p.views},
                 1);
      first_target += targets;
    }
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
