// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cuda/device/bulk_copy.cuh"
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/key/key_dot_piped.cuh"
#include "backend/cuda/key/key_dot_piped.hpp"
#include "backend/cuda/key/key_dot_plan.hpp"
#include "backend/cuda/ntt/ntt_run.hpp"

namespace halocline::backend::cuda {
namespace {

using word = std::uint32_t;

/// Words of a tile, and memory for rooms of a multiprocessor in words.
constexpr unsigned tile = 512, all_rooms = 192 * 1024 / sizeof(word);

/// Blocks of a multiprocessor. Eight sums have one word of each for a thread, and one block.
template <typename ShapeT>
inline constexpr unsigned blocks_each = tile / ShapeT::threads;

template <unsigned sums, unsigned step>
using shape = key_dot_shape<word, sums, sums == key_dot_sums ? 1 : 2, sums == key_dot_sums ? tile : tile / 2,
                            all_rooms / (3 * tile) / (sums == key_dot_sums ? 1 : 2), step>;

/// Shared memory of a block.
template <typename ShapeT>
struct key_dot_room {
  alignas(128) word rooms[ShapeT::stages][ShapeT::step][ShapeT::room_words];
  key_dot_info terms[key_dot_terms];
  stage_barrier full[ShapeT::stages];   ///< a step has its words
  stage_barrier empty[ShapeT::stages];  ///< all warps have read them
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// The warp that asks for copies, a lane for each piece of each key.
template <typename ShapeT>
__device__ __forceinline__ void key_dot_copy(const key_dot_params<word>& p, key_dot_room<ShapeT>& room) {
  const std::uint32_t lane = threadIdx.x % 32, key = lane / 3, piece = lane % 3;
  const std::uint32_t tiles = key_dot_tiles<ShapeT>(p), terms = p.all.terms;
  const cache_policy policy = make_policy(piece == 0 ? p.data : p.keys);
  stage_place now;
  for (std::uint32_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const key_dot_tile<word> tile = key_dot_tile_at<ShapeT>(p, index);
    for (std::uint32_t t = 0; t < terms; ++t) {
      const key_dot_info term = room.terms[t];
      const std::uint32_t from = key_dot_source_tile<ShapeT>(p, term, tile.first);
      for (std::uint32_t k = 0; k < term.keys; k += ShapeT::step, now.advance(ShapeT::stages)) {
        const std::uint32_t keys = min(ShapeT::step, term.keys - k);
        const word* const source = key < keys ? key_dot_piece(p, tile, term, k + key, piece, from) : nullptr;
        room.empty[now.stage].wait(now.parity ^ 1);  // passed at once the first time
        if (lane == 0) room.full[now.stage].arrive_with(keys * ShapeT::room_words * sizeof(word));
        __syncwarp();
        if (source == nullptr) continue;
        copy_bulk(source, room.rooms[now.stage][key] + piece * ShapeT::tile, ShapeT::tile * sizeof(word),
                  room.full[now.stage], policy);
      }
    }
  }
}

/// The threads that multiply.
template <typename ShapeT>
__device__ __forceinline__ void key_dot_add(const key_dot_params<word>& p, key_dot_room<ShapeT>& room) {
  const std::uint32_t tiles = key_dot_tiles<ShapeT>(p);
  stage_place now;
  for (std::uint32_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const key_dot_tile<word> tile = key_dot_tile_at<ShapeT>(p, index);
    key_dot_tile_body<ShapeT>(
        p, tile, threadIdx.x, [&](std::uint32_t term) { return room.terms[term]; },
        [&] {
          room.full[now.stage].wait(now.parity);
          return room.rooms[now.stage][0];
        },
        [&] {
          __syncwarp();
          if (threadIdx.x % 32 == 0) room.empty[now.stage].arrive();
          now.advance(ShapeT::stages);
        });
  }
}
#endif

extern __shared__ __align__(128) unsigned char key_dot_shared[];

template <typename ShapeT>
__global__ void __launch_bounds__(ShapeT::threads + 32, blocks_each<ShapeT>)
    piped_key_dot_kernel(const __grid_constant__ key_dot_params<word> p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  begin_kernel();
  auto& room = *reinterpret_cast<key_dot_room<ShapeT>*>(key_dot_shared);
  if (threadIdx.x < ShapeT::stages) {
    room.full[threadIdx.x].begin(1);
    room.empty[threadIdx.x].begin(ShapeT::threads / 32);
    publish_barriers();
  }
  if (threadIdx.x < p.all.terms) room.terms[threadIdx.x] = key_dot_info_of(p, threadIdx.x);
  __syncthreads();
  threadIdx.x < ShapeT::threads ? key_dot_add<ShapeT>(p, room) : key_dot_copy<ShapeT>(p, room);
#endif
}

template <typename ShapeT>
void launch_piped(const executor<word>& on, const key_dot_params<word>& params) {
  const std::uint32_t blocks =
      static_cast<std::uint32_t>(on.launch.device().multiprocessors()) * blocks_each<ShapeT>;
  run_phase(on.launch, "key_dot", piped_key_dot_kernel<ShapeT>,
            dim3(std::min(blocks, key_dot_tiles<ShapeT>(params))), dim3(ShapeT::threads + 32),
            sizeof(key_dot_room<ShapeT>), params);
}

template <unsigned step>
void launch_piped(const executor<word>& on, const key_dot_params<word>& params) {
  if (params.all.sums > 4) return launch_piped<shape<key_dot_sums, step>>(on, params);
  if (params.all.sums > 2) return launch_piped<shape<4, step>>(on, params);
  params.all.sums == 2 ? launch_piped<shape<2, step>>(on, params) : launch_piped<shape<1, step>>(on, params);
}

/// Memory for rooms, barriers and terms of a block.
constexpr std::size_t most_shared = all_rooms * sizeof(word) + 2048;

}  // namespace

bool pipes_key_dot(const executor<word>& on, std::span<const key_dot_job> jobs) {
  const auto many = [](const key_term& term) { return term.digits.size() > 1; };
  const device_context& device = on.launch.device();
  return device.architecture() >= 90 && on.resolve.n() >= tile &&
         device.properties().sharedMemPerBlockOptin >= most_shared &&
         std::ranges::any_of(jobs,
                             [&](const key_dot_job& job) { return std::ranges::any_of(job.terms, many); });
}

void piped_key_dot(const executor<word>& on, cache_hint keys, std::span<const key_dot_job> jobs) {
  plan_key_dot(on.resolve, keys, cache_hint::normal, key_dot_sums, jobs,
               [&](const key_dot_params<word>& params, std::uint32_t) {
                 if (params.all.most_keys <= 2) return launch_piped<2>(on, params);
                 params.all.most_keys == 3 ? launch_piped<3>(on, params) : launch_piped<4>(on, params);
               });
}

}  // namespace halocline::backend::cuda
