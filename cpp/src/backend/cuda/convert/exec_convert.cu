// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/convert/convert_plan.hpp"
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/elementwise/kernel_tuning.hpp"
#include "backend/cuda/executor.hpp"

namespace halocline::backend::cuda {
namespace {

template <typename WordT>
__global__ void __launch_bounds__(convert_threads)
    convert_kernel(const __grid_constant__ convert_params<WordT> p) {
  begin_kernel();
  extern __shared__ uint4 shared[];
  WordT* const y = reinterpret_cast<WordT*>(shared);
  convert_scale_sources(p, here(), y);
  __syncthreads();
  convert_round(p, here(), y);
  __syncthreads();
  convert_sum(p, here(), y);
}

__device__ __forceinline__ void multiply_matrices(std::uint32_t (&sum)[4], const std::uint32_t (&low)[4],
                                                  const std::uint32_t (&high)[4], unsigned pair,
                                                  std::uint32_t right0, std::uint32_t right1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(low[2 * pair]), "r"(low[2 * pair + 1]), "r"(high[2 * pair]), "r"(high[2 * pair + 1]), "r"(right0),
        "r"(right1));
}

/// Sum over the four threads that hold the sources of a coefficient.
__device__ __forceinline__ std::uint64_t sum_of_four(std::uint64_t x) {
  x += __shfl_xor_sync(0xffffffff, x, 1);
  return x + __shfl_xor_sync(0xffffffff, x, 2);
}

/// Takes the registers of thread `from`.
__device__ __forceinline__ pack<std::uint32_t> exchange(const pack<std::uint32_t>& own, std::uint32_t from) {
  pack<std::uint32_t> got;
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) got.word[j] = __shfl_sync(0xffffffff, own.word[j], from);
  return got;
}

/// Registers of the left matrices for the 32 coefficients from `base` on.
template <unsigned steps>
__device__ __forceinline__ void convert_left(const mma_shared<steps>& shared, std::uint32_t sources,
                                             std::size_t base, mma_left<steps>& left) {
  const std::uint32_t lane = threadIdx.x % 32;
  pack<std::uint32_t> x[2 * steps];
  mma_load<steps>(shared, lane, base, x);
#pragma unroll
  for (auto& each : x) each = exchange(each, mma_memory_lane(lane));
  std::uint64_t fraction[4] = {};
  mma_scale<steps>(shared, lane, x, left, fraction);
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) fraction[j] = sum_of_four(fraction[j]);
  mma_round<steps>(sources, lane, fraction, left);
}

/// All targets of the block for the 32 coefficients from `base` on.
template <unsigned steps>
__device__ __forceinline__ void convert_coefficients(const mma_shared<steps>& shared, std::uint32_t sources,
                                                     std::uint32_t groups, std::size_t base,
                                                     cache_policy policy) {
  const std::uint32_t lane = threadIdx.x % 32;
  mma_left<steps> left;
  convert_left<steps>(shared, sources, base, left);
#pragma unroll 1
  for (std::uint32_t g = 0; g < groups; ++g) {
    mma_sums sums = {};
#pragma unroll
    for (unsigned s = 0; s < steps; ++s) {
      const uint4 right = *reinterpret_cast<const uint4*>(shared.right[g][s][lane]);
#pragma unroll
      for (unsigned m = 0; m < 2; ++m) {
        multiply_matrices(sums[m][0], left.y[s][0], left.y[s][1], m, right.x, right.y);
        multiply_matrices(sums[m][1], left.y[s][0], left.y[s][1], m, right.z, right.w);
      }
    }
    const auto& own = shared.targets[4 * g + lane % 4];
    const pack<std::uint32_t> result = exchange(mma_reduce(sums, own.q, own.neg_inv), mma_matrix_lane(lane));
    std::uint32_t* const data = shared.targets[4 * g + lane / 8].data;
    if (data != nullptr) store<std::uint32_t>(data + base + lane % 8 * 4, result, policy);
  }
}

/// All blocks are on the card at once. The next kernel may begin only when they end: if its first blocks took
/// the free places earlier, the others would go to the few multiprocessors that end first (H200, back to
/// back: 15.9 us instead of 13.3 for a ModDown of 47 limbs).
template <unsigned steps>
__global__ void __launch_bounds__(convert_threads)
    convert_mma_kernel(const __grid_constant__ convert_params<std::uint32_t> p) {
  wait_for_previous();
  __shared__ mma_shared<steps> shared;
  const auto& job = p.jobs.items[blockIdx.y];
  const std::uint32_t first_target = blockIdx.z * mma_targets;
  if (first_target >= job.targets) return;
  mma_fill<steps>(p, here(), first_target, shared);
  __syncthreads();
  const std::uint32_t groups = (min(job.targets - first_target, mma_targets) + 3) / 4;
  const cache_policy policy = make_policy(p.store);
  const std::uint32_t end = (blockIdx.x + 1) * p.tile;
  for (std::uint32_t first = blockIdx.x * p.tile + threadIdx.x / 32 * mma_coefficients; first < end;
       first += convert_threads / 32 * mma_coefficients) {
    convert_coefficients<steps>(shared, job.sources, groups, first, policy);
  }
}

using mma_kernel = void (*)(convert_params<std::uint32_t>);
constexpr mma_kernel mma_kernels[mma_max_steps] = {convert_mma_kernel<1>, convert_mma_kernel<2>,
                                                   convert_mma_kernel<3>, convert_mma_kernel<4>};

void launch_mma(const launcher& launch, const kernel_tuning& tuning, std::uint32_t steps,
                convert_params<std::uint32_t>& p, std::uint32_t rows) {
  const auto units = static_cast<std::uint32_t>(launch.device().multiprocessors());
  const std::uint32_t parts = (most_targets(p) + mma_targets - 1) / mma_targets;
  p.tile = mma_tile(p.words, rows * parts, tuning.convert_blocks_per_unit * units);
  launch("base_convert_mma", mma_kernels[steps - 1], dim3(p.words / p.tile, rows, parts),
         dim3(convert_threads), 0, p);
}

template <typename WordT>
void base_convert(const executor<WordT>& on, std::span<const convert_job> jobs) {
  const kernel_tuning& tuning = tuning_of(on.launch.device().architecture());
  plan_convert(on.resolve, tuning.convert_store, jobs, [&](convert_params<WordT>& p, std::uint32_t rows) {
    if constexpr (sizeof(WordT) == 4) {
      const std::uint32_t steps = tuning.convert_tensor_cores ? mma_steps(p) : 0;
      if (steps != 0) return launch_mma(on.launch, tuning, steps, p, rows);
    }
    on.launch("base_convert", convert_kernel<WordT>, dim3(p.words / p.tile, rows), dim3(convert_threads),
              (most_sources(p) + 1) * p.tile * sizeof(WordT), p);
  });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> convert_operations() {
  return op_table<executor<WordT>>{
      row<base_convert<WordT>>(ops::base_convert),
  };
}

template op_table<executor<std::uint32_t>> convert_operations();
template op_table<executor<std::uint64_t>> convert_operations();

}  // namespace halocline::backend::cuda
