// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/client/slot_tile.hpp"
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/executor.hpp"

namespace halocline::backend::cuda {
namespace {

using arith::fft_factors;
using arith::fft_point;

constexpr unsigned threads = 256;

/// Moves between slots and points.
struct place_params {
  fft_point* slots;
  double* re;  ///< imaginary parts follow the real ones
  const fft_factors* table;
  unsigned log_slots;
  std::uint32_t count;
};

__global__ void __launch_bounds__(threads) scatter_slots(const __grid_constant__ place_params p) {
  begin_kernel();
  const std::uint32_t n = 1U << p.log_slots;
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k >= n) return;
  const std::uint32_t place = arith::slot_places(p.table, p.log_slots)[k];
  const fft_point value = k < p.count ? p.slots[k] : fft_point{0.0, 0.0};
  p.re[place / 2] = value.re;
  p.re[n + place / 2] = k < p.count && place % 2 != 0 ? -value.im : value.im;
}

__global__ void __launch_bounds__(threads) gather_slots(const __grid_constant__ place_params p) {
  begin_kernel();
  const std::uint32_t n = 1U << p.log_slots;
  const std::uint32_t k = blockIdx.x * threads + threadIdx.x;
  if (k >= n) return;
  const std::uint32_t place = arith::slot_places(p.table, p.log_slots)[k];
  const double im = p.re[n + place / 2];
  p.slots[k] = {p.re[place / 2], place % 2 == 0 ? im : -im};
}

struct passes_params {
  double* re;
  const fft_factors* table;
  slot_group group;
};

__device__ void radix2_pass(const slot_group& group, bool forward, double* re, double* im) {
  for (std::size_t w = threadIdx.x; w < slot_items(group, true); w += threads) {
    slot_pair(group, forward, w, re, im);
  }
  __syncthreads();
}

__device__ void radix4_pass(const slot_group& group, bool forward, unsigned done, const fft_factors* table,
                            double* re, double* im) {
  for (std::size_t w = threadIdx.x; w < slot_items(group, false); w += threads) {
    slot_quad(group, forward, blockIdx.x, done, w, table, re, im);
  }
  __syncthreads();
}

/// All passes of a group on one tile, in shared memory.
template <bool forward>
__global__ void __launch_bounds__(threads) slot_passes(const __grid_constant__ passes_params p) {
  begin_kernel();
  __shared__ double re[std::size_t{1} << slot_tile_log];
  __shared__ double im[std::size_t{1} << slot_tile_log];
  const slot_group& group = p.group;
  double* const global_im = p.re + (std::size_t{1} << group.log_slots);
  for (std::size_t e = threadIdx.x; e < group.tile_points(); e += threads) {
    const std::size_t from = group.address(blockIdx.x, e);
    re[e] = p.re[from];
    im[e] = global_im[from];
  }
  __syncthreads();
  const unsigned first = group.begins_odd() ? 1 : 0;
  if (forward) {
    if (first != 0) radix2_pass(group, true, re, im);
    for (unsigned done = first; done < group.levels; done += 2) {
      radix4_pass(group, true, done, p.table, re, im);
    }
  } else {
    for (unsigned done = group.levels; done > first;) {
      done -= 2;
      radix4_pass(group, false, done, p.table, re, im);
    }
    if (first != 0) radix2_pass(group, false, re, im);
  }
  for (std::size_t e = threadIdx.x; e < group.tile_points(); e += threads) {
    const std::size_t to = group.address(blockIdx.x, e);
    p.re[to] = re[e];
    global_im[to] = im[e];
  }
}

/// Groups from depth `end` on downwards; calls `body(group)` for the first ones first, or last ones first.
template <typename BodyT>
void for_each_group(unsigned log_slots, unsigned end, bool forward, const BodyT& body) {
  if (end == 0) return;
  const slot_group group = slot_group_before(log_slots, end);
  if (!forward) body(group);
  for_each_group(log_slots, group.depth, forward, body);
  if (forward) body(group);
}

template <typename WordT>
void slot_transform(const executor<WordT>& on, std::span<const slot_job> jobs) {
  for (const slot_job& job : jobs) {
    const bool forward = job.direction == slot_direction::to_slots;
    auto* const re = const_cast<double*>(on.resolve.template raw<double>(*job.coefficients));
    const auto* const table = on.resolve.template raw<fft_factors>(*job.table);
    const place_params places{const_cast<fft_point*>(on.resolve.template raw<fft_point>(*job.slots)), re,
                              table, job.log_slots, job.count};
    const unsigned blocks = ((1U << job.log_slots) + threads - 1) / threads;
    if (!forward) on.launch("scatter_slots", scatter_slots, blocks, threads, 0, places);
    for_each_group(job.log_slots, job.log_slots, forward, [&](const slot_group& group) {
      const passes_params passes{re, table, group};
      const auto tiles = static_cast<unsigned>(group.tiles());
      on.launch(forward ? "slot_passes_forward" : "slot_passes_inverse",
                forward ? slot_passes<true> : slot_passes<false>, tiles, threads, 0, passes);
    });
    if (forward) on.launch("gather_slots", gather_slots, blocks, threads, 0, places);
  }
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> slot_operations() {
  return op_table<executor<WordT>>{
      row<slot_transform<WordT>>(ops::slot_transform),
  };
}

template op_table<executor<std::uint32_t>> slot_operations();
template op_table<executor<std::uint64_t>> slot_operations();

}  // namespace halocline::backend::cuda
