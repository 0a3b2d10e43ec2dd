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

/// Memory for rooms of a multiprocessor, in words.
constexpr unsigned all_rooms = 192 * 1024 / sizeof(word);

/// Blocks of a multiprocessor: more sums or more words of each take more registers.
template <typename ShapeT>
inline constexpr unsigned blocks_each = ShapeT::threads == 512 ? 1 : 2;

template <unsigned sums, unsigned words, unsigned threads, unsigned step>
using shape = key_dot_shape<word, sums, words, threads,
                            all_rooms / (3 * words * threads) / (threads == 512 ? 1 : 2), step>;

/// Shared memory of a block.
template <typename ShapeT>
struct key_dot_room {
  alignas(128) word rooms[ShapeT::stages][ShapeT::step][ShapeT::room_words];
  key_dot_info terms[key_dot_terms];
  stage_barrier full[ShapeT::stages];   ///< a step has its words
  stage_barrier empty[ShapeT::stages];  ///< all warps have read them
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// Asks for the copies of all steps of a block, one step at a time; a lane for each piece of each key. All
/// lanes of one warp call it, between steps of their own: a warp for it alone would take registers from the
/// others.
template <typename ShapeT>
class key_dot_copier {
 public:
  __device__ key_dot_copier(const key_dot_params<word>& p, key_dot_room<ShapeT>& room)
      : p_(p), room_(room), index_(blockIdx.x), key_(threadIdx.x % 32 / 3), piece_(threadIdx.x % 32 % 3) {
    policy_ = make_policy(piece_ == 0 ? p.data : p.keys);
    find();
  }
  /// The next step, if there is one, as soon as its rooms are free.
  __device__ __forceinline__ void ask() {
    if (index_ >= key_dot_tiles<ShapeT>(p_)) return;
    const key_dot_info term = room_.terms[term_];
    const std::uint32_t keys = min(ShapeT::step, term.keys - first_);
    const word* source = nullptr;
    if (key_ < keys) {
      const key_dot_tile<word> tile = key_dot_tile_at<ShapeT>(p_, index_);
      const std::uint32_t from = key_dot_source_tile<ShapeT>(p_, term, tile.first);
      source = key_dot_piece(p_, tile, term, first_ + key_, piece_, from);
    }
    stage_barrier& full = room_.full[now_.stage];
    room_.empty[now_.stage].wait(now_.parity ^ 1);  // passed at once the first time
    if (threadIdx.x % 32 == 0) full.arrive_with(keys * ShapeT::room_words * sizeof(word));
    __syncwarp();
    if (source != nullptr) {
      copy_bulk(source, room_.rooms[now_.stage][key_] + piece_ * ShapeT::tile, ShapeT::tile * sizeof(word),
                full, policy_);
    }
    now_.advance(ShapeT::stages);
    first_ += ShapeT::step;
    find();
  }

 private:
  /// Goes on to the next term that has keys left.
  __device__ void find() {
    while (index_ < key_dot_tiles<ShapeT>(p_) && first_ >= room_.terms[term_].keys) {
      first_ = 0;
      if (++term_ < p_.all.terms) continue;
      term_ = 0;
      index_ += gridDim.x;
    }
  }

  const key_dot_params<word>& p_;
  key_dot_room<ShapeT>& room_;
  std::uint32_t index_, term_ = 0, first_ = 0, key_, piece_;
  cache_policy policy_;
  stage_place now_;
};

template <typename ShapeT>
__device__ __forceinline__ void key_dot_run(const key_dot_params<word>& p, key_dot_room<ShapeT>& room) {
  // Steps that are asked for ahead. Rooms that were read in the step before may still be read by other warps.
  constexpr std::uint32_t ahead = ShapeT::stages >= 4 ? ShapeT::stages - 2 : ShapeT::stages - 1;
  const std::uint32_t tiles = key_dot_tiles<ShapeT>(p);
  const bool copies = threadIdx.x < 32;
  key_dot_copier<ShapeT> copier(p, room);
  if (copies) {
    for (std::uint32_t i = 0; i < ahead; ++i) copier.ask();
  }
  stage_place now;
  for (std::uint32_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const key_dot_tile<word> tile = key_dot_tile_at<ShapeT>(p, index);
    key_dot_tile_body<ShapeT>(
        p, tile, threadIdx.x, [&](std::uint32_t term) { return room.terms[term]; },
        [&] {
          if (copies) copier.ask();
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
__global__ void __launch_bounds__(ShapeT::threads, blocks_each<ShapeT>)
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
  key_dot_run<ShapeT>(p, room);
#endif
}

template <typename ShapeT>
void launch_piped(const executor<word>& on, const key_dot_params<word>& params) {
  const std::uint32_t blocks =
      static_cast<std::uint32_t>(on.launch.device().multiprocessors()) * blocks_each<ShapeT>;
  run_phase(on.launch, "key_dot", piped_key_dot_kernel<ShapeT>,
            dim3(std::min(blocks, key_dot_tiles<ShapeT>(params))), dim3(ShapeT::threads),
            sizeof(key_dot_room<ShapeT>), params);
}

template <unsigned step>
void launch_piped(const executor<word>& on, const key_dot_params<word>& params) {
  if (params.all.sums > 4) return launch_piped<shape<key_dot_sums, 1, 512, step>>(on, params);
  if (params.all.sums > 2) return launch_piped<shape<4, 2, 256, step>>(on, params);
  if (params.all.sums == 2) return launch_piped<shape<2, 2, 256, step>>(on, params);
  launch_piped<shape<1, 4, 256, step>>(on, params);
}

/// Words of the largest tile, and memory for rooms, barriers and terms.
constexpr std::size_t most_tile = 1024, most_shared = all_rooms * sizeof(word) + 2048;

}  // namespace

bool pipes_key_dot(const executor<word>& on) {
  const device_context& device = on.launch.device();
  return device.architecture() >= 90 && on.resolve.n() >= most_tile &&
         device.properties().sharedMemPerBlockOptin >= most_shared;
}

void piped_key_dot(const executor<word>& on, cache_hint keys, std::span<const key_dot_job> jobs) {
  plan_key_dot(on.resolve, keys, cache_hint::normal, key_dot_sums, jobs,
               [&](const key_dot_params<word>& params, std::uint32_t) {
                 switch (params.all.most_keys) {
                   case 0:
                   case 1:
                     return launch_piped<1>(on, params);
                   case 2:
                     return launch_piped<2>(on, params);
                   case 3:
                     return launch_piped<3>(on, params);
                   default:
                     return launch_piped<4>(on, params);
                 }
               });
}

}  // namespace halocline::backend::cuda
