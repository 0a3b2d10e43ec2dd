// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/row_select_dots.cuh"
#include "backend/cuda/retrieval/row_select_plan.hpp"
#include "backend/cuda/retrieval/row_select_point_major.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t dots_threads = 256;

__global__ void __launch_bounds__(dots_threads)
    row_select_dots_kernel(const __grid_constant__ row_select_params p) {
  begin_kernel();
  const std::uint64_t item = std::uint64_t{blockIdx.x} * (dots_threads / 32) + threadIdx.x / 32;
  if (item >= dots_items(p)) return;
  const dots_place at = dots_find(p, item);
  const std::uint32_t lane = threadIdx.x % 32, q = p.moduli[at.limb].value;
  for (std::uint32_t i = 0; i < 2 * p.queries; ++i) {
    std::uint64_t sum = dots_part(p, at, i / 2, i % 2, lane);
#pragma unroll
    for (unsigned far = 16; far != 0; far /= 2) sum = dots_add(sum, __shfl_xor_sync(~0U, sum, far), q);
    if (lane == 0) dots_store(p, at, i / 2, i % 2, sum);
  }
}

}  // namespace

void row_select_dots(const executor<std::uint32_t>& on, const row_select_job& job) {
  plan_row_select(on.resolve, job, [&](const row_select_params& p) {
    constexpr std::uint64_t warps = dots_threads / 32;
    const auto blocks = static_cast<std::uint32_t>((dots_items(p) + warps - 1) / warps);
    run_phase(on.launch, "row_select_dots", row_select_dots_kernel, dim3(blocks), dim3(dots_threads), 0, p);
  });
}

}  // namespace halocline::backend::cuda
