// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/bulk_copy.cuh"
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/key/key_rows.cuh"
#include "backend/cuda/key/key_rows.hpp"
#include "backend/cuda/ntt/ntt_run.hpp"

namespace halocline::backend::cuda {
namespace {

using shape = key_rows_shape;
using word = shape::word;

/// Blocks that a multiprocessor must have room for: 96 registers. 47 limbs with four digits take 98.4 us so,
/// with the first phase; 99.7 with 6 blocks, 102.3 with 7. Two rows for a warp, with 16 words of each lane:
/// 117.0 (H200).
constexpr unsigned blocks_each = 5;

/// Shared memory of a block.
struct key_rows_room {
  alignas(128) key_rows_stage stage[shape::rows][shape::stages];
  /// Quotients of the twiddles of the block's rows, in the places of `near_entry`.
  alignas(16) word table[shape::rows << shape::k];
  stage_barrier full[shape::rows][shape::stages];  ///< a stage of a warp has its words
  stage_barrier twiddles;
};

extern __shared__ __align__(128) unsigned char key_rows_shared[];

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// Begins to copy the twiddles of the block's rows.
__device__ __forceinline__ void copy_twiddles(const key_rows_lane& on, key_rows_room& room) {
  room.twiddles.arrive_with(((shape::rows << shape::k) - shape::rows) * sizeof(word));
#pragma unroll 1
  for (unsigned level = 0; level < shape::k; ++level) {
    const std::uint32_t count = shape::rows << level;
    copy_bulk(on.twiddles(level), room.table + count, count * sizeof(word), room.twiddles);
  }
}

/// One lane of a warp begins to copy its row of a digit and of its key.
__device__ __forceinline__ void copy_digit(const key_params<word>::digit& digit, std::size_t offset,
                                           cache_policy keys, key_rows_stage& stage, stage_barrier& full) {
  constexpr std::uint32_t bytes = shape::row_words * sizeof(word);
  full.arrive_with(3 * bytes);
  copy_bulk(digit.d + offset, stage.words, bytes, full);
  copy_bulk(digit.b + offset, stage.keys[0], bytes, full, keys);
  copy_bulk(digit.a + offset, stage.keys[1], bytes, full, keys);
}

__device__ __forceinline__ void transform_row(const key_rows_lane& on, key_rows_stage& stage,
                                              const word* table) {
  key_rows_lane::words_type x;
  on.read(stage, x);
  __syncwarp();
#pragma unroll
  for (unsigned s = 0; s < key_rows_lane::rounds; ++s) {
    on.round(s, stage, table, x);
    __syncwarp();
  }
  on.put(stage, x);
  __syncwarp();
}

/// Limbs in the opposite order: what the first phase wrote last is still in the cache.
__device__ __forceinline__ coordinates key_rows_place() {
  return {blockIdx.x, gridDim.y - 1 - blockIdx.y, threadIdx.x, blockDim.x};
}

/// Adds the products of a digit that has been copied.
__device__ __forceinline__ void add_digit(const key_rows_lane& on, std::uint32_t d, key_rows_stage& stage,
                                          const word* table, key_rows_lane::sums_type& sums) {
  if (on.digit(d).rows) {
    transform_row(on, stage, table);
    on.add_transformed(stage, sums);
  } else {
    on.add_copied(stage, sums);
  }
  on.normalise(d, sums);
}

/// Writes the sums, turned through `stage` where that is wanted.
__device__ __forceinline__ void write_sums(const key_rows_lane& on, bool turned, const key_position& at,
                                           std::uint32_t row, key_rows_stage& stage,
                                           const key_rows_lane::sums_type& sums) {
  if (!turned) return on.finish(sums);
  __syncwarp();
  on.keep(stage, sums);
  __syncwarp();
  on.turn(at, row, stage);
}

/// One part of a job. `now`: the stage that its first digit gets.
template <typename ReadyT>
__device__ __forceinline__ void key_rows_part(const key_params<word>& p, std::uint32_t part,
                                              key_rows_room& room, stage_place& now, const ReadyT& ready) {
  const key_position at = position_of(p, key_rows_place(), part);
  const std::uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * shape::rows + warp;
  const key_rows_lane on(p, at, row, lane);
  const std::uint32_t digits = on.job().digits;
  const std::size_t offset = on.offset();
  const cache_policy keys = make_policy(p.keys);
  if (threadIdx.x == 0) copy_twiddles(on, room);
  ready();
  if (lane == 0) {
    stage_place next = now;
    for (std::uint32_t d = 0; d < min(digits, shape::stages); ++d, next.advance(shape::stages)) {
      copy_digit(on.digit(d), offset, keys, room.stage[warp][next.stage], room.full[warp][next.stage]);
    }
  }
  key_rows_lane::sums_type sums = {};
  room.twiddles.wait(part & 1);
#pragma unroll 1
  for (std::uint32_t d = 0; d < digits; ++d, now.advance(shape::stages)) {
    key_rows_stage& stage = room.stage[warp][now.stage];
    room.full[warp][now.stage].wait(now.parity);
    add_digit(on, d, stage, room.table, sums);
    if (d + shape::stages >= digits) continue;
    release_to_copies();
    __syncwarp();
    if (lane == 0) {
      copy_digit(on.digit(d + shape::stages), offset, keys, stage, room.full[warp][now.stage]);
    }
  }
  write_sums(on, p.turned, at, row, room.stage[warp][0], sums);
  release_to_copies();
}
#endif

/// `summed`: jobs may have several parts.
template <bool summed>
__global__ void __launch_bounds__(shape::threads, blocks_each)
    key_rows_kernel(const __grid_constant__ key_params<word> p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  let_next_begin();
  auto& room = *reinterpret_cast<key_rows_room*>(key_rows_shared);
  if (threadIdx.x == 0) {
    for (auto& warp : room.full) {
      for (stage_barrier& each : warp) each.begin(1);
    }
    room.twiddles.begin(1);
    publish_barriers();
  }
  __syncthreads();
  stage_place now;
  key_rows_part(p, 0, room, now, wait_for_previous);
  const std::uint32_t parts = summed ? key_parts(p, position_of(p, key_rows_place())) : 1;
#pragma unroll 1
  for (std::uint32_t part = 1; part < parts; ++part) {
    __syncthreads();  // no warp needs the twiddles of the part before
    key_rows_part(p, part, room, now, [] {});
  }
#endif
}

}  // namespace

void launch_key_rows(const launcher& launch, const key_params<std::uint32_t>& params, std::uint32_t limbs) {
  const auto kernel = params.summed ? key_rows_kernel<true> : key_rows_kernel<false>;
  prefer_shared(launch, kernel);
  run_phase(launch, params.turned ? "key_multiply_rows_turned" : "key_multiply_rows", kernel,
            dim3((params.words >> shape::k) / shape::rows, limbs), dim3(shape::threads),
            sizeof(key_rows_room), params);
}

}  // namespace halocline::backend::cuda
