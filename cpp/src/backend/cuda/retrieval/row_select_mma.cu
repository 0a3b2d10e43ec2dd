// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/row_select_mma.cuh"
#include "backend/cuda/retrieval/row_select_mma.hpp"
#include "backend/cuda/retrieval/row_select_mma_plan.hpp"

namespace halocline::backend::cuda {
namespace {

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&sum)[4], const std::uint32_t (&left)[4],
                                               std::uint32_t right0, std::uint32_t right1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

/// Ends a group of copies of this thread.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups of copies of this thread but the last `pending`.
template <unsigned pending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Adds the products of a step to the sums of the warp of point `point`.
template <typename ShapeT>
__device__ __forceinline__ void multiply_step(
    const std::uint32_t* stage, const std::uint32_t* right, std::uint32_t point, std::uint32_t lane,
    std::uint32_t (&sums)[ShapeT::left_tiles][ShapeT::right_groups][2][4]) {
  std::uint32_t left[ShapeT::left_tiles][4];
#pragma unroll
  for (unsigned m = 0; m < ShapeT::left_tiles; ++m) row_mma_left(stage, point, lane, m, left[m]);
#pragma unroll
  for (unsigned group = 0; group < ShapeT::right_groups; ++group) {
    const uint4 b = *reinterpret_cast<const uint4*>(right + row_mma_right_place<ShapeT>(point, group, lane));
#pragma unroll
    for (unsigned m = 0; m < ShapeT::left_tiles; ++m) {
      multiply_bytes(sums[m][group][0], left[m], b.x, b.y);
      multiply_bytes(sums[m][group][1], left[m], b.z, b.w);
    }
  }
}

extern __shared__ uint4 row_mma_shared[];

/// Multiplies all rows. In step s the words of the database of step s + 3 and the selectors of step s + 2 are
/// on their way, those of step s + 1 become registers of right matrices, and step s is multiplied.
template <typename ShapeT>
__device__ __forceinline__ void multiply_rows(
    const row_mma_params& p, const row_mma_place& at, const row_mma_prime& q, std::uint32_t* stages,
    std::uint32_t (&sums)[ShapeT::left_tiles][ShapeT::right_groups][2][4]) {
  std::uint32_t* const rights = stages + row_mma_stages * ShapeT::stage_words;
  const std::uint32_t thread = threadIdx.x, steps = (p.rows + row_mma_step - 1) / row_mma_step;
#pragma unroll
  for (std::uint32_t s = 0; s + 1 < row_mma_stages; ++s) {
    if (s < steps) row_mma_fetch_left<ShapeT>(p, at, thread, s, stages + s * ShapeT::stage_words);
    commit_copies();
  }
  std::uint32_t raw[ShapeT::right_groups];
  row_mma_read_right<ShapeT>(p, at, thread, 0, raw);
  row_mma_write_right<ShapeT>(q, thread, raw, rights);
  row_mma_read_right<ShapeT>(p, at, thread, 1, raw);
  std::uint32_t s = 0;
#pragma unroll 1
  do {  // at least one step, which a loop with a condition before it would have to copy all sums for
    wait_copies<row_mma_stages - 2>();
    __syncthreads();
    const std::uint32_t next = s + row_mma_stages - 1;
    if (next < steps) {
      row_mma_fetch_left<ShapeT>(p, at, thread, next, stages + next % row_mma_stages * ShapeT::stage_words);
    }
    commit_copies();
    row_mma_write_right<ShapeT>(q, thread, raw, rights + (s + 1) % 2 * ShapeT::right_words);
    row_mma_read_right<ShapeT>(p, at, thread, s + 2, raw);
    multiply_step<ShapeT>(stages + s % row_mma_stages * ShapeT::stage_words,
                          rights + s % 2 * ShapeT::right_words, thread / 32, thread % 32, sums);
  } while (++s < steps);
  wait_copies<0>();
}

template <typename ShapeT>
__global__ void __launch_bounds__(row_mma_threads, 1)
    row_select_mma_kernel(const __grid_constant__ row_mma_params p) {
  begin_kernel();
  std::uint32_t* const shared = reinterpret_cast<std::uint32_t*>(row_mma_shared);
  const row_mma_place at = row_mma_find<ShapeT>(p, blockIdx.x);
  const row_mma_prime q = row_mma_constants(p.moduli[at.limb]);
  std::uint32_t sums[ShapeT::left_tiles][ShapeT::right_groups][2][4] = {};
  multiply_rows<ShapeT>(p, at, q, shared, sums);
  __syncthreads();
#pragma unroll
  for (unsigned m = 0; m < ShapeT::left_tiles; ++m) {
#pragma unroll
    for (unsigned group = 0; group < ShapeT::right_groups; ++group) {
      row_mma_put<ShapeT>(q, threadIdx.x / 32, threadIdx.x % 32, m, group, sums[m][group], shared);
    }
  }
  __syncthreads();
  row_mma_store<ShapeT>(p, at, threadIdx.x, shared);
}

template <typename ShapeT>
void launch_shape(const executor<std::uint32_t>& on, const row_select_job& job) {
  constexpr auto kernel = row_select_mma_kernel<ShapeT>;
  prefer_shared(on.launch, kernel);
  plan_row_mma<ShapeT>(on.resolve, job, [&](const row_mma_params& p) {
    run_phase(on.launch, "row_select_mma", kernel, dim3(p.blocks()), dim3(row_mma_threads),
              ShapeT::shared_bytes, p);
  });
}

}  // namespace

void row_select_mma(const executor<std::uint32_t>& on, row_select_kernel kernel, const row_select_job& job) {
  switch (kernel) {
    case row_select_kernel::matrix_4:
      return launch_shape<row_mma_shape<8, 2>>(on, job);
    case row_select_kernel::matrix_8:
      return launch_shape<row_mma_shape<4, 4>>(on, job);
    default:
      return launch_shape<row_mma_shape<2, 8>>(on, job);
  }
}

}  // namespace halocline::backend::cuda
