// SPDX-License-Identifier: Apache-2.0
// Compiled for compute capability 9.0a alone: see cmake/HaloclineCuda.cmake.
#include <cuda.h>

#include "backend/cuda/device/bulk_copy.cuh"
#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/row_select_mma_plan.hpp"
#include "backend/cuda/retrieval/row_select_point_major.hpp"
#include "backend/cuda/retrieval/row_select_warpgroup.cuh"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

/// What a launch gets: the database as a tensor of rows, columns and points too, for copies.
struct warpgroup_params {
  CUtensorMap database;
  row_mma_params of;
};

// d = left * right, plus d where `more` is not 0; asynchronous. Registers of sums and of the left matrix are
// not to be touched before `wait_products`.
__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[16], const std::uint32_t (&left)[4],
                                               std::uint64_t right, std::uint32_t more) {
  asm volatile(
      "{ .reg .pred more;\n"
      "setp.ne.b32 more, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, more; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(more));
}

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[32], const std::uint32_t (&left)[4],
                                               std::uint64_t right, std::uint32_t more) {
  asm volatile(
      "{ .reg .pred more;\n"
      "setp.ne.b32 more, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, more; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
        "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
        "+r"(d[30]), "+r"(d[31])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(more));
}

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[48], const std::uint32_t (&left)[4],
                                               std::uint64_t right, std::uint32_t more) {
  asm volatile(
      "{ .reg .pred more;\n"
      "setp.ne.b32 more, %53, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
      "{%48, %49, %50, %51}, %52, more; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
        "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
        "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]),
        "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]),
        "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(more));
}

__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[64], const std::uint32_t (&left)[4],
                                               std::uint64_t right, std::uint32_t more) {
  asm volatile(
      "{ .reg .pred more;\n"
      "setp.ne.b32 more, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, more; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
        "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
        "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]),
        "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]),
        "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), "+r"(d[49]), "+r"(d[50]),
        "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), "+r"(d[57]),
        "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(more));
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

/// Begins to copy a box of the database; zeros where there are no rows and columns.
__device__ __forceinline__ void copy_box(const CUtensorMap& from, std::uint32_t* to, stage_barrier& done,
                                         std::uint32_t row, std::uint32_t column, std::uint32_t point) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
      "%4}], "
      "[%5];" ::"r"(shared_address(to)),
      "l"(&from), "r"(row), "r"(column), "r"(point), "r"(shared_address(&done.state))
      : "memory");
}

/// Descriptor of a tile of columns in shared memory: lines of 128 bytes, swizzled, eight of them (1 KiB) to
/// an atom.
__device__ __forceinline__ std::uint64_t right_matrix(const std::uint32_t* tile) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62, atom = std::uint64_t{1024 >> 4} << 32,
                          unused = std::uint64_t{1} << 16;
  return static_cast<std::uint64_t>(shared_address(tile) >> 4) | unused | atom | swizzle_128;
}

/// Shared memory of a block.
template <typename ShapeT>
struct warpgroup_room {
  std::uint32_t right[ShapeT::stages][ShapeT::right_words];
  std::uint32_t left[ShapeT::stages][ShapeT::left_words];
  std::uint32_t results[ShapeT::result_words];
  stage_barrier full[ShapeT::stages];   ///< a stage has its words
  stage_barrier empty[ShapeT::stages];  ///< all warps have multiplied them
};

/// Warps that ask for copies: a warpgroup, so that its registers can go to the others. A copy takes a warp
/// some twenty cycles of its own, and a step has up to 33 of them.
constexpr std::uint32_t copying_warps = 4;

/// Registers of a thread: of those that copy, and of those that multiply; 168 at first.
constexpr std::uint32_t copying_registers = 40, multiplying_registers = 232;

/// A warp that asks for copies: a thread for each of its queries, and one for the database.
template <typename ShapeT>
__device__ __forceinline__ void copy_all(const warpgroup_params& p, const warpgroup_place& at,
                                         warpgroup_room<ShapeT>& room, std::uint32_t steps) {
  constexpr std::uint32_t share = ShapeT::selectors / 2 / copying_warps;
  const std::uint32_t warp = (threadIdx.x - warpgroup_threads) / 32, lane = threadIdx.x % 32;
  const std::uint32_t slot = warp * share, first = at.first_selector / 2 + slot;
  const std::uint32_t queries = first < p.of.queries ? min(share, p.of.queries - first) : 0;
  stage_place now;
  for (std::uint32_t point = 0; point < ShapeT::points; ++point) {
    for (std::uint32_t s = 0; s < steps; ++s, now.advance(ShapeT::stages)) {
      stage_barrier& full = room.full[now.stage];
      const std::uint32_t words = warpgroup_source_words(p.of, s);
      room.empty[now.stage].wait(now.parity ^ 1);  // passed at once the first time
      if (lane == 0) {
        full.arrive_with(4 * (queries * words + (warp == 0 ? ShapeT::right_words : 0)));
        if (warp == 0) {
          copy_box(p.database, room.right[now.stage], full, s * warpgroup_rows, at.first_column,
                   at.all_points + point);
        }
      }
      __syncwarp();
      if (lane < queries && words != 0) {
        copy_bulk(warpgroup_source(p.of, at, first + lane, point, s),
                  room.left[now.stage] + (slot + lane) * warpgroup_query_pitch, 4 * words, full);
      }
    }
  }
}

/// Registers of the left matrices of the stage `at`, once it is there.
template <typename ShapeT>
__device__ __forceinline__ void prepare(const row_mma_prime& q, warpgroup_room<ShapeT>& room,
                                        const stage_place& at, warpgroup_left& left) {
  std::uint32_t raw[8];
  room.full[at.stage].wait(at.parity);
  warpgroup_read<ShapeT>(room.left[at.stage], threadIdx.x, raw);
  warpgroup_prepare(q, raw, left);
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    keep_here(left[j][0]);
    keep_here(left[j][1]);
  }
}

/// Step `s` of a point, whose left matrices are `now`; those of the next one become `next`, unless it is the
/// last step of all.
template <typename ShapeT>
__device__ __forceinline__ void multiply_step(const row_mma_prime& q, warpgroup_room<ShapeT>& room,
                                              std::uint32_t s, bool last, stage_place& at,
                                              std::uint32_t (&sums)[2][ShapeT::sums], warpgroup_left& now,
                                              warpgroup_left& next) {
  const std::uint32_t thread = threadIdx.x;
  const std::uint64_t right =
      right_matrix(room.right[at.stage] + (ShapeT::wide ? thread / 128 * ShapeT::n * warpgroup_rows : 0));
  begin_products();
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {  // 32 bytes of each line further
    multiply_bytes(sums[0], now[j][0], right + 2 * j, s + j);
    multiply_bytes(sums[1], now[j][1], right + 2 * j, s + j);
  }
  end_products();
  stage_barrier& done = room.empty[at.stage];
  at.advance(ShapeT::stages);
  if (!last) prepare(q, room, at, next);
  wait_products();
  if (thread % 32 == 0) done.arrive();
}

/// The threads that multiply.
template <typename ShapeT>
__device__ __forceinline__ void multiply_all(const row_mma_params& p, const warpgroup_place& at,
                                             warpgroup_room<ShapeT>& room, std::uint32_t steps) {
  const std::uint32_t thread = threadIdx.x;
  const row_mma_prime q = row_mma_constants(p.moduli[at.limb]);
  std::uint32_t sums[2][ShapeT::sums];
  stage_place now;
  warpgroup_left even, odd;
  prepare(q, room, now, even);
#pragma unroll 1
  for (std::uint32_t point = 0; point < ShapeT::points; ++point) {
#pragma unroll 1
    for (std::uint32_t s = 0; s < steps; s += 2) {
      const bool last = point + 1 == ShapeT::points && s + 2 == steps;
      multiply_step<ShapeT>(q, room, s, false, now, sums, even, odd);
      multiply_step<ShapeT>(q, room, s + 1, last, now, sums, odd, even);
    }
    warpgroup_put<ShapeT>(q, thread, point, sums, room.results);
  }
  asm volatile("bar.sync 1, %0;" ::"n"(warpgroup_threads) : "memory");  // those that copy have gone
  warpgroup_store<ShapeT>(p, at, thread, room.results);
}

extern __shared__ __align__(1024) unsigned char warpgroup_shared[];

template <typename ShapeT>
__global__ void __launch_bounds__(warpgroup_threads + 32 * copying_warps, 1)
    row_select_warpgroup_kernel(const __grid_constant__ warpgroup_params p) {
  begin_kernel();
  auto& room = *reinterpret_cast<warpgroup_room<ShapeT>*>(warpgroup_shared);
  const warpgroup_place at = warpgroup_find<ShapeT>(p.of, blockIdx.x);
  const std::uint32_t steps = warpgroup_steps(p.of.rows);
  if (threadIdx.x == 0) {
    for (std::uint32_t i = 0; i < ShapeT::stages; ++i) {
      room.full[i].begin(copying_warps);
      room.empty[i].begin(warpgroup_threads / 32);
    }
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x >= warpgroup_threads) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(copying_registers));
    copy_all<ShapeT>(p, at, room, steps);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(multiplying_registers));
    multiply_all<ShapeT>(p.of, at, room, steps);
  }
}

/// The driver's function that describes tensors: the runtime library has none.
auto tensor_encoder() {
  static const auto found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                           &result),
          "look for cuTensorMapEncodeTiled");
    HALOCLINE_EXPECTS(
        result == cudaDriverEntryPointSuccess && function != nullptr, device_error,
        "row_select: the driver has no cuTensorMapEncodeTiled; expected one for CUDA 12 or later");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  return found;
}

/// The database of a job as a tensor whose boxes are stages.
template <typename ShapeT>
CUtensorMap database_tensor(const row_mma_params& p) {
  CUtensorMap made;
  const cuuint64_t sizes[] = {p.rows, p.columns, cuuint64_t{p.limbs} << p.log_n};
  const cuuint64_t strides[] = {cuuint64_t{4} * p.rows, cuuint64_t{4} * p.rows * p.columns};
  const cuuint32_t box[] = {warpgroup_rows, ShapeT::columns, 1}, steps[] = {1, 1, 1};
  const CUresult result =
      tensor_encoder()(&made, CU_TENSOR_MAP_DATA_TYPE_UINT32, 3, const_cast<std::uint32_t*>(p.database),
                       sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  HALOCLINE_EXPECTS(result == CUDA_SUCCESS, device_error, "row_select: a database of ", p.rows, " rows and ",
                    p.columns, " columns is no tensor for the driver (error ", static_cast<int>(result), ")");
  return made;
}

template <typename ShapeT>
void launch_shape(const executor<std::uint32_t>& on, const row_select_job& job) {
  constexpr auto kernel = row_select_warpgroup_kernel<ShapeT>;
  static_assert(sizeof(warpgroup_room<ShapeT>) == ShapeT::shared_bytes);
  prefer_shared(on.launch, kernel);
  plan_row_mma<ShapeT>(on.resolve, job, [&](const row_mma_params& p) {
    const warpgroup_params all{database_tensor<ShapeT>(p), p};
    run_phase(on.launch, "row_select_warpgroup", kernel, dim3(warpgroup_blocks<ShapeT>(p)),
              dim3(warpgroup_threads + 32 * copying_warps), ShapeT::shared_bytes, all);
  });
}

void launch_wide(const executor<std::uint32_t>& on, const row_select_job& job) {
  warpgroup_tile(job.columns, true) == 32 ? launch_shape<warpgroup_shape<32, true>>(on, job)
                                          : launch_shape<warpgroup_shape<64, true>>(on, job);
}
void launch_tall(const executor<std::uint32_t>& on, const row_select_job& job) {
  switch (warpgroup_tile(job.columns, false)) {
    case 32:
      return launch_shape<warpgroup_shape<32, false>>(on, job);
    case 64:
      return launch_shape<warpgroup_shape<64, false>>(on, job);
    case 96:
      return launch_shape<warpgroup_shape<96, false>>(on, job);
    default:
      return launch_shape<warpgroup_shape<128, false>>(on, job);
  }
}

}  // namespace

void row_select_warpgroup(const executor<std::uint32_t>& on, const row_select_job& job) {
  job.queries.size() <= most_wide_queries ? launch_wide(on, job) : launch_tall(on, job);
}

}  // namespace halocline::backend::cuda
