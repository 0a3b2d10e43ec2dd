// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_joined.hpp"

#include <algorithm>

#include "backend/cuda/ntt/ntt_items.hpp"
#include "backend/cuda/ntt/ntt_phases.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"

namespace halocline::backend::cuda {
namespace {

using word = std::uint32_t;
constexpr unsigned e = ntt_log_words(32), k = row_stages;
constexpr unsigned joined_threads = 1U << joined_log_threads;
/// Blocks of a phase of one polynomial, as a power of two.
constexpr unsigned log_poly_blocks = 2 * k - e - joined_log_threads;
/// Blocks that a multiprocessor must have room for: 40 registers. With 5, a batch of 8 takes 5 to 8 % longer.
constexpr unsigned joined_blocks = 6;

/// One more block of the first phase is done. The barrier makes the writes of all its threads part of that.
__device__ inline void arrive(std::uint32_t* counter) {
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/// Waits for `count` blocks of the first phase. Only one thread polls, and acquires once, because an acquire
/// invalidates the first-level cache (with every warp polling and acquiring each time: 20 us instead of 15).
__device__ inline void wait_for_arrivals(const std::uint32_t* counter, std::uint32_t count) {
  if (threadIdx.x == 0) {
    std::uint32_t seen = 0;
    while (true) {
      asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
      if (seen >= count) break;
      __nanosleep(100);
    }
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  }
  __syncthreads();
}

/// One more block of the second phase has seen all arrivals; the last one clears the counter for the next
/// kernel.
__device__ inline void leave(std::uint32_t* counter, std::uint32_t all) {
  if (threadIdx.x == 0 && atomicAdd(counter, 1) == all - 1) *counter = 0;
}

template <bool inverse, unsigned log_polys, unsigned sources, typename ParamsT>
__global__ void __launch_bounds__(joined_threads, joined_blocks)
    joined_kernel(const __grid_constant__ ParamsT params) {
  using columns = ntt_shape<e, k, 2 * k, e>;
  using rows = ntt_shape<e, k, 2 * k, 0, true>;
  constexpr unsigned log_blocks = log_poly_blocks + log_polys, log_threads = joined_log_threads - log_polys;
  let_next_begin();
  const joined_item item = item_of(blockIdx.x, log_blocks, params.groups.limbs, params.lead);
  std::uint32_t* const counter = params.arrivals + item.limb;
  const std::uint32_t polys = params.groups.items[params.groups.find(item.limb)].polys;
  const std::uint32_t column_blocks = polys << log_poly_blocks, row_blocks = 1U << log_blocks;
  const auto ready = [&] {
    wait_for_previous();
    if (item.second) wait_for_arrivals(counter, inverse ? row_blocks : column_blocks);
  };
  if (item.second == inverse) {
    const block_place in{item.limb, item.block >> log_poly_blocks, item.block & ((1U << log_poly_blocks) - 1),
                         threadIdx.x, joined_threads};
    if (in.poly >= polys) return wait_for_previous();
    inverse ? inverse_columns<word, columns>(params, in, ready)
            : forward_columns<word, columns, sources>(params, in, ready);
  } else {
    const block_place in{item.limb, threadIdx.x >> log_threads, item.block,
                         threadIdx.x & ((1U << log_threads) - 1), 1U << log_threads};
    inverse ? inverse_rows<word, rows>(params, in, ready) : forward_rows<word, rows>(params, in, ready);
  }
  item.second ? leave(counter, column_blocks + row_blocks) : arrive(counter);
}

template <bool inverse, unsigned log_polys, unsigned sources, typename ParamsT>
void run_polys(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  constexpr unsigned log_blocks = log_poly_blocks + log_polys;
  constexpr std::uint32_t rows = joined_threads >> log_polys >> (k - e);
  constexpr std::size_t column_words = ((1U << k) + (1U << (k - e))) << e;
  constexpr std::size_t row_words =
      (rows << log_polys) * exchange_words(k, e) + near_table_words<word>(rows, k);
  params.bits = k;
  params.log_columns = e;
  params.lead = std::min(params.groups.limbs, (choice.lead * 64U + (1U << log_blocks) - 1) >> log_blocks);
  params.arrivals = launch.device().zeroed_counters();
  run_phase(launch, inverse ? "intt_joined" : "ntt_joined",
            joined_kernel<inverse, log_polys, sources, ParamsT>,
            dim3(params.groups.limbs << (log_blocks + 1)), dim3(joined_threads),
            std::max(column_words, row_words) * sizeof(word), params);
}

}  // namespace

template <bool inverse, unsigned sources, typename ParamsT>
void run_joined(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  const unsigned polys = most_polys(params);
  if (polys > 2) return run_polys<inverse, 2, sources>(launch, choice, params);
  polys == 2 ? run_polys<inverse, 1, sources>(launch, choice, params)
             : run_polys<inverse, 0, sources>(launch, choice, params);
}

template void run_joined<false, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_joined<true, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_joined<false, 0>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_joined<false, 1>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_joined<false, 2>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_joined<false, 3>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_joined<false, 4>(const launcher&, const ntt_choice&, combine_params<word>&);

}  // namespace halocline::backend::cuda
