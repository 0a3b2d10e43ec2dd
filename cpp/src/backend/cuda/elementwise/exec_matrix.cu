// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/elementwise/tensor_matrix.cuh"
#include "backend/cuda/executor.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t matrix_threads = 128;
/// Rows and columns of the largest tile: of what a thread reads of a and b, 1/8 comes from beyond the
/// first-level cache.
constexpr std::uint32_t largest_tile = 8;
/// Blocks that keep a large card busy.
constexpr std::uint64_t wanted_blocks = 2048;

template <bool single, typename WordT>
__global__ void __launch_bounds__(matrix_threads)
    matrix_kernel(const __grid_constant__ matrix_params<WordT> p) {
  begin_kernel();
  matrix_body<single>(p, here(), blockIdx.z);
}

[[nodiscard]] std::uint32_t tiles(std::uint32_t count, std::uint32_t tile) {
  return (count + tile - 1) / tile;
}

template <typename WordT>
void tensor_matrix(const executor<WordT>& on, std::span<const matrix_job> jobs) {
  for (const matrix_job& job : jobs) {
    const auto first = [&](const matrix_view& of) { return on.resolve.limb({of.data, of.limb, job.primes}); };
    matrix_params<WordT> p{};
    p.a = first(job.a);
    p.b = first(job.b);
    p.c = first(job.c);
    p.moduli = on.resolve.moduli() + job.primes.first;
    p.rows = job.c.rows;
    p.inner = job.a.columns;
    p.columns = job.c.columns;
    p.primes = job.primes.count;
    p.words = static_cast<std::uint32_t>(on.resolve.n());
    p.accumulate = job.accumulate;
    const std::uint32_t packs = p.words / pack<WordT>::size, threads = std::min(matrix_threads, packs);
    const std::uint32_t blocks = packs / threads * p.primes;
    p.tile = largest_tile;
    while (p.tile > 1 &&
           std::uint64_t{blocks} * tiles(p.rows, p.tile) * tiles(p.columns, p.tile) < wanted_blocks)
      p.tile /= 2;
    p.column_tiles = tiles(p.columns, p.tile);
    const dim3 grid(packs / threads, p.primes, tiles(p.rows, p.tile) * p.column_tiles);
    const auto kernel = p.inner == 1 ? matrix_kernel<true, WordT> : matrix_kernel<false, WordT>;
    on.launch("tensor_matrix", kernel, grid, dim3(threads), 0, p);
  }
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> matrix_operations() {
  return op_table<executor<WordT>>{row<tensor_matrix<WordT>>(ops::tensor_matrix)};
}

template op_table<executor<std::uint32_t>> matrix_operations();
template op_table<executor<std::uint64_t>> matrix_operations();

}  // namespace halocline::backend::cuda
