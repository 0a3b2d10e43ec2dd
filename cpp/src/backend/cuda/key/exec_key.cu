// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/elementwise/kernel_tuning.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/key/key_plan.hpp"
#include "backend/cuda/key/key_rows.hpp"
#include "backend/cuda/ntt/ntt_jobs.hpp"
#include "backend/cuda/ntt/ntt_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t key_threads = 128;

template <typename WordT>
__global__ void __launch_bounds__(key_threads) key_kernel(const __grid_constant__ key_params<WordT> p) {
  begin_kernel();
  key_body(p, {here()});
}

/// `summed`: jobs may have several parts. The loop over them takes registers from kernels of one.
template <typename WordT, bool summed>
__global__ void __launch_bounds__(key_threads)
    key_turned_kernel(const __grid_constant__ key_params<WordT> p) {
  begin_kernel();
  __shared__ pack<WordT> exchange[2 * key_threads];
  const std::uint32_t parts = summed ? key_parts(p, here()) : 1;
#pragma unroll 1
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (part != 0) __syncthreads();  // the sums of the part before are taken
    const key_position at{here(), part};
    key_turned_body(p, key_source(p, at), exchange);
    __syncthreads();
    key_turn(p, at, exchange);
  }
}

/// One part of a job: `key_seeded_kernel`.
template <typename WordT, stream_rule Rule, bool turned>
__device__ __forceinline__ void key_seeded_part(const key_params<WordT>& p, std::uint32_t part,
                                                std::uint32_t digits, key_shared<WordT, Rule>& shared) {
  key_sums<WordT> sums{};
  const auto at = [&] { return key_position{here(), part}; };
  const std::uint32_t block = turned ? key_source(p, at()).block_x : blockIdx.x;
  const auto source = [&] { return key_position{{block, blockIdx.y, threadIdx.x, stream_blocks}, part}; };
#pragma unroll 1
  for (std::uint32_t first = 0; first < digits; first += key_group) {
    if (first != 0) __syncthreads();  // the tile is free again
    key_fetch(p, source(), first, shared);
    stream_fill(shared.a, [&](std::uint32_t j) { return key_stream(p, source(), first, j); });
    wait_async();
    if (first == 0) let_next_begin();
    key_add_group(p, source(), first, shared, sums);
  }
  if constexpr (turned) {
    const pack<WordT>* const exchange = key_seeded_keep(p, source(), sums, shared);
    __syncthreads();
    key_turn(p, at(), exchange);
  } else {
    key_seeded_finish(p, source(), sums);
  }
}

/// `single`: no part has more than one group of digits, so that no sums are kept while keys are expanded.
/// `turned`: jobs may have permutations and several parts.
template <typename WordT, stream_rule Rule, bool single, bool turned>
__global__ void __launch_bounds__(stream_blocks, single ? 5 : 4)
    key_seeded_kernel(const __grid_constant__ key_params<WordT> p) {
  wait_for_previous();
  __shared__ key_shared<WordT, Rule> shared;
  const std::uint32_t parts = turned ? key_parts(p, here()) : 1;
#pragma unroll 1
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (part != 0) __syncthreads();  // the sums of the part before are taken
    const std::uint32_t digits = single ? 1 : p.jobs.items[p.jobs.find(blockIdx.y) + part].digits;
    key_seeded_part<WordT, Rule, turned>(p, part, digits, shared);
  }
}

template <typename WordT>
auto stored_kernel(const key_params<WordT>& p) {
  if (!p.turned) return key_kernel<WordT>;
  return p.summed ? key_turned_kernel<WordT, true> : key_turned_kernel<WordT, false>;
}

/// Whether every job of a launch has at most one group of digits.
template <typename WordT>
bool single_groups(const key_params<WordT>& p) {
  bool single = true;
  for (std::uint32_t j = 0; j < p.jobs.jobs; ++j) single &= p.jobs.items[j].digits <= key_group;
  return single;
}

template <typename WordT, stream_rule Rule>
auto seeded_kernel_of(const key_params<WordT>& p) {
  if (p.turned) {
    return single_groups(p) ? key_seeded_kernel<WordT, Rule, true, true>
                            : key_seeded_kernel<WordT, Rule, false, true>;
  }
  return single_groups(p) ? key_seeded_kernel<WordT, Rule, true, false>
                          : key_seeded_kernel<WordT, Rule, false, false>;
}

template <typename WordT>
auto seeded_kernel(const key_params<WordT>& p) {
  return p.rule == stream_rule::chacha8_spare ? seeded_kernel_of<WordT, stream_rule::chacha8_spare>(p)
                                              : seeded_kernel_of<WordT, stream_rule::chacha20_retry>(p);
}

/// Transforms digits in coefficient form: only their first phase, and true, where kernels of products do the
/// second one. They do in rings of 2^16 with 32-bit words, unless any key is seeded.
template <typename WordT>
bool transform_digits(const executor<WordT>& on, const kernel_tuning& tuning, std::span<const key_job> jobs) {
  const std::vector<unary_job> transforms = transforms_of(jobs);
  if (transforms.empty()) return false;
  if constexpr (sizeof(WordT) == 4) {
    if (tuning.key_rows && on.resolve.log_n() == 2 * row_stages && !any_seeded(jobs)) {
      transform_columns(on, transforms);
      return true;
    }
  }
  transform_limbs<WordT>(on, transforms, false);
  return false;
}

template <typename WordT>
void key_multiply_accumulate(const executor<WordT>& on, std::span<const key_job> jobs) {
  const kernel_tuning& tuning = tuning_of(on.launch.device().architecture());
  const bool rows = transform_digits(on, tuning, jobs);
  plan_key(on.resolve, tuning.keys, cache_hint::normal, rows, jobs,
           [&](const key_params<WordT>& params, std::uint32_t limbs) {
             if constexpr (sizeof(WordT) == 4) {
               if (params.rows) return launch_key_rows(on.launch, params, limbs);
             }
             const std::uint32_t packs = params.words / pack<WordT>::size;
             if (params.seeded) {
               const std::uint32_t blocks = (packs + stream_blocks - 1) / stream_blocks;
               return on.launch(params.turned ? "key_multiply_seeded_turned" : "key_multiply_seeded",
                                seeded_kernel(params), dim3(blocks, limbs), dim3(stream_blocks), 0, params);
             }
             const launch_shape shape = shape_of(packs, 1, key_threads);
             on.launch(params.turned ? "key_multiply_turned" : "key_multiply", stored_kernel(params),
                       dim3(shape.blocks, limbs), dim3(shape.threads), 0, params);
           });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> key_operations() {
  return op_table<executor<WordT>>{
      row<key_multiply_accumulate<WordT>>(ops::key_multiply_accumulate),
  };
}

template op_table<executor<std::uint32_t>> key_operations();
template op_table<executor<std::uint64_t>> key_operations();

}  // namespace halocline::backend::cuda
