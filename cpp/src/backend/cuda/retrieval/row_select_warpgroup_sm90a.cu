// SPDX-License-Identifier: Apache-2.0
// Compiled for compute capability 9.0a alone: see cmake/HaloclineCuda.cmake.
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/row_select_mma_plan.hpp"
#include "backend/cuda/retrieval/row_select_point_major.hpp"
#include "backend/cuda/retrieval/row_select_warpgroup.cuh"

namespace halocline::backend::cuda {
namespace {

// d += left * right; asynchronous. Registers of sums and of the left matrix are not to be touched before
// `wait_products`.
__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[16], const std::uint32_t (&left)[4],
                                               std::uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, 1;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[32], const std::uint32_t (&left)[4],
                                               std::uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, 1;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
        "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
        "+r"(d[30]), "+r"(d[31])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[48], const std::uint32_t (&left)[4],
                                               std::uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n96k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
      "{%48, %49, %50, %51}, %52, 1;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
        "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
        "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]),
        "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]),
        "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[64], const std::uint32_t (&left)[4],
                                               std::uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, 1;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
        "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
        "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]),
        "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]),
        "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), "+r"(d[49]), "+r"(d[50]),
        "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), "+r"(d[57]),
        "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}

/// Before the first product behind a change of registers.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/// Computes registers before what follows, and not before what is in front.
template <unsigned count>
__device__ __forceinline__ void keep_here(std::uint32_t (&registers)[count]) {
#pragma unroll
  for (unsigned i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i]));
}
/// Lets matrix instructions see what this thread copied to shared memory.
__device__ __forceinline__ void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Descriptor of a tile of columns in shared memory: lines of 128 bytes, swizzled, eight of them (1 KiB) to
/// an atom.
__device__ __forceinline__ std::uint64_t right_matrix(const std::uint32_t* tile) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(tile));
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62, atom = std::uint64_t{1024 >> 4} << 32,
                          unused = std::uint64_t{1} << 16;
  return (address & 0x3ffff) >> 4 | unused | atom | swizzle_128;
}

extern __shared__ __align__(1024) std::uint32_t warpgroup_shared[];

/// What a thread keeps while rows are multiplied.
template <typename ShapeT>
struct warpgroup_state {
  std::uint32_t sums[2][ShapeT::sums] = {};
  std::uint32_t raw[8];
  const std::uint32_t* source;
};

/// Step `s`, whose left matrices are `now`; those of the next one become `next`.
template <typename ShapeT>
__device__ __forceinline__ void multiply_step(const row_mma_params& p, const warpgroup_place& at,
                                              const row_mma_prime& q, std::uint32_t s, std::uint32_t steps,
                                              warpgroup_state<ShapeT>& own, warpgroup_left& now,
                                              warpgroup_left& next) {
  const std::uint32_t thread = threadIdx.x;
  wait_stages<ShapeT::stages - 2>();
  show_copies();
  __syncthreads();  // all have ended the step before: its stage is free
  const std::uint32_t later = s + ShapeT::stages - 1;
  if (later < steps) {
    warpgroup_fetch<ShapeT>(p, at, thread, later,
                            warpgroup_shared + later % ShapeT::stages * ShapeT::stage_words);
  }
  end_stage();
  const std::uint32_t* const tile = warpgroup_shared + s % ShapeT::stages * ShapeT::stage_words +
                                    (ShapeT::wide ? thread / 128 * ShapeT::n * warpgroup_rows : 0);
  const std::uint64_t right = right_matrix(tile);
  begin_products();
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {  // 32 bytes of each line further
    multiply_bytes(own.sums[0], now[j][0], right + 2 * j);
    multiply_bytes(own.sums[1], now[j][1], right + 2 * j);
  }
  end_products();
  // Between beginning and end of the products, not in front of them or behind: the compiler must not move it.
  keep_here(own.raw);
  warpgroup_prepare(q, own.raw, next);
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    keep_here(next[j][0]);
    keep_here(next[j][1]);
  }
  warpgroup_read(p, own.source, thread, s + 2, own.raw);
  wait_products();
}

template <typename ShapeT>
__global__ void __launch_bounds__(warpgroup_threads, 1)
    row_select_warpgroup_kernel(const __grid_constant__ row_mma_params p) {
  begin_kernel();
  const std::uint32_t thread = threadIdx.x;
  const warpgroup_place at = warpgroup_find<ShapeT>(p, blockIdx.x);
  const row_mma_prime q = row_mma_constants(p.moduli[at.limb]);
  const std::uint32_t steps = warpgroup_steps(p.rows);
#pragma unroll
  for (std::uint32_t s = 0; s + 1 < ShapeT::stages; ++s) {
    if (s < steps) warpgroup_fetch<ShapeT>(p, at, thread, s, warpgroup_shared + s * ShapeT::stage_words);
    end_stage();
  }
  warpgroup_state<ShapeT> own;
  own.source = warpgroup_source<ShapeT>(p, at, thread);
  warpgroup_left even, odd;
  warpgroup_read(p, own.source, thread, 0, own.raw);
  warpgroup_prepare(q, own.raw, even);
  warpgroup_read(p, own.source, thread, 1, own.raw);
#pragma unroll 1
  for (std::uint32_t s = 0; s < steps; s += 2) {
    multiply_step<ShapeT>(p, at, q, s, steps, own, even, odd);
    multiply_step<ShapeT>(p, at, q, s + 1, steps, own, odd, even);
  }
  wait_stages<0>();
  warpgroup_store<ShapeT>(p, at, q, thread, own.sums);
}

template <typename ShapeT>
void launch_shape(const executor<std::uint32_t>& on, const row_select_job& job) {
  constexpr auto kernel = row_select_warpgroup_kernel<ShapeT>;
  prefer_shared(on.launch, kernel);
  plan_row_mma<ShapeT>(on.resolve, job, [&](const row_mma_params& p) {
    run_phase(on.launch, "row_select_warpgroup", kernel, dim3(warpgroup_blocks(p)), dim3(warpgroup_threads),
              ShapeT::shared_bytes, p);
  });
}

/// The tile that pads least columns; the larger of equal ones.
template <bool wide>
void launch_columns(const executor<std::uint32_t>& on, const row_select_job& job) {
  switch (warpgroup_tile(job.columns, wide)) {
    case 32:
      return launch_shape<warpgroup_shape<32, wide>>(on, job);
    case 64:
      return launch_shape<warpgroup_shape<64, wide>>(on, job);
    case 96:
      return launch_shape<warpgroup_shape<96, wide>>(on, job);
    default:
      return launch_shape<warpgroup_shape<128, wide>>(on, job);
  }
}

}  // namespace

void row_select_warpgroup(const executor<std::uint32_t>& on, const row_select_job& job) {
  job.queries.size() <= most_wide_queries ? launch_columns<true>(on, job) : launch_columns<false>(on, job);
}

}  // namespace halocline::backend::cuda
