// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt_launch.hpp"

#include <algorithm>

#include "backend/cuda/grid_order.cuh"
#include "backend/cuda/ntt_kernels.cuh"

namespace halocline::backend::cuda {
namespace {

extern __shared__ uint4 exchange_area[];

/// Waits for the threads of a team: a warp, or the block when teams are larger.
template <unsigned e, unsigned k>
__device__ inline void team_barrier() {
  if constexpr (k != 0 && k - e <= 5) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

template <typename WordT, unsigned e, unsigned k, typename ParamsT>
__global__ void __launch_bounds__(most_ntt_threads) ntt_columns(const __grid_constant__ ParamsT params) {
  begin_kernel();
  const std::uint32_t poly = blockIdx.z;
  if (poly >= params.groups.items[params.groups.find(blockIdx.y)].polys) return;
  auto place = find_limb<false>(params, blockIdx.y, poly);
  if constexpr (!std::is_same_v<ParamsT, plain_ntt_params<WordT>>)
    place.dst = const_cast<WordT*>(place.src);  // the combination needs both its inputs
  const auto on =
      column_thread<e, k>(params, place, blockIdx.x, threadIdx.x, reinterpret_cast<WordT*>(exchange_area));
  WordT x[1U << e];
#pragma unroll(k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.forward_step(s, x);
  }
  on.store(on.rounds() - 1, x);
}

template <typename WordT, unsigned e, unsigned k>
__global__ void __launch_bounds__(most_ntt_threads)
    intt_columns(const __grid_constant__ plain_ntt_params<WordT> params) {
  begin_kernel();
  const std::uint32_t poly = blockIdx.z;
  if (poly >= params.groups.items[params.groups.find(blockIdx.y)].polys) return;
  auto place = find_limb<true>(params, blockIdx.y, poly);
  place.src = place.dst;  // what the rows kernel left
  const auto on =
      column_thread<e, k>(params, place, blockIdx.x, threadIdx.x, reinterpret_cast<WordT*>(exchange_area));
  WordT x[1U << e];
  on.load(on.rounds() - 1, x);
#pragma unroll(k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.template inverse_step<true>(s, x);
  }
  on.store(0, x);
}

/// The thread's place in a rows kernel: blockDim.x threads per polynomial.
template <unsigned e, unsigned k, typename WordT, typename GroupT>
__device__ inline ntt_thread<WordT, e, k> this_row(const ntt_params<WordT, GroupT>& params,
                                                   const ntt_place<WordT>& place) {
  const unsigned bits = k != 0 ? k : params.bits;
  const std::uint32_t rows = blockDim.x >> (bits - e);
  WordT* const shared =
      reinterpret_cast<WordT*>(exchange_area) + threadIdx.y * rows * exchange_words(bits, e);
  return row_thread<e, k>(params, place, blockIdx.x * rows, threadIdx.x, shared);
}

template <typename WordT, unsigned e, unsigned k, typename ParamsT>
__global__ void __launch_bounds__(most_ntt_threads) ntt_rows(const __grid_constant__ ParamsT params) {
  begin_kernel();
  constexpr bool plain = std::is_same_v<ParamsT, plain_ntt_params<WordT>>;
  const std::uint32_t poly = threadIdx.y;
  if (poly >= params.groups.items[params.groups.find(blockIdx.y)].polys) return;
  auto place = find_limb<false>(params, blockIdx.y, poly);
  // What the columns kernel left; a ring that needs none is transformed from its source.
  if constexpr (plain && k != 0) place.src = place.dst;
  const auto on = this_row<e, k>(params, place);
  WordT x[1U << e];
#pragma unroll(k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) team_barrier<e, k>();
    on.forward_step(s, x);
  }
  if (on.rounds() > 1) team_barrier<e, k>();
  on.put_neighbours(x);
  team_barrier<e, k>();
  const WordT q = place.at.q;
  if constexpr (plain) {
    on.store_chunks([&](std::uint32_t, const chunk<WordT>& got) { return reduce_chunk(got, q); });
  } else {
    const auto& group = params.groups.items[place.group];
    const combine_factors<WordT> factors = params.factors[group.factors[poly] + place.limb];
    const auto* const a = reinterpret_cast<const chunk<WordT>*>(group.a[poly] + (on.dst - group.dst[poly]));
    on.store_chunks([&](std::uint32_t c, const chunk<WordT>& got) {
      return combine_chunk(read_chunk(a + c), got, factors, q);
    });
  }
}

template <typename WordT, unsigned e, unsigned k>
__global__ void __launch_bounds__(most_ntt_threads)
    intt_rows(const __grid_constant__ plain_ntt_params<WordT> params) {
  begin_kernel();
  const std::uint32_t poly = threadIdx.y;
  if (poly >= params.groups.items[params.groups.find(blockIdx.y)].polys) return;
  const auto place = find_limb<true>(params, blockIdx.y, poly);
  const auto on = this_row<e, k>(params, place);
  WordT x[1U << e];
  on.load_chunks();
  team_barrier<e, k>();
  on.get_neighbours(x);
  team_barrier<e, k>();
#pragma unroll(k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) team_barrier<e, k>();
    on.template inverse_step<k == 0>(s, x);
  }
  on.store(0, x);
}

template <typename ParamsT>
unsigned most_polys(const ParamsT& params) {
  std::uint32_t most = 1;
  for (std::uint32_t g = 0; g < params.groups.jobs; ++g) most = std::max(most, params.groups.items[g].polys);
  return most;
}

/// Raises the kernel's limit where a block needs more than every kernel may have.
template <typename ParamsT>
void run(const launcher& launch, const char* name, void (*kernel)(ParamsT), dim3 grid, dim3 block,
         std::size_t shared, const ParamsT& params) {
  if (shared > 48 * 1024) {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          name);
  }
  launch(name, kernel, grid, block, shared, params);
}

/// Grid and block of the columns kernels.
template <typename WordT, unsigned e, typename ParamsT>
void run_columns(const launcher& launch, const char* name, void (*kernel)(ParamsT), const ntt_choice& choice,
                 ParamsT& params) {
  params.bits = params.log_n - row_stages;
  params.log_columns = choice.log_columns;
  const unsigned threads = 1U << (params.bits - e + choice.log_columns);
  const dim3 grid(1U << (row_stages - choice.log_columns), params.groups.limbs, most_polys(params));
  const std::size_t words = ((std::size_t{1} << params.bits) + (std::size_t{1} << (params.bits - e)))
                            << choice.log_columns;
  run(launch, name, kernel, grid, dim3(threads), words * sizeof(WordT), params);
}

/// Grid and block of the rows kernels.
template <typename WordT, unsigned e, typename ParamsT>
void run_rows(const launcher& launch, const char* name, void (*kernel)(ParamsT), const ntt_choice& choice,
              ParamsT& params) {
  const bool alone = params.log_n <= one_kernel_log_n;
  params.bits = alone ? params.log_n : row_stages;
  const unsigned team = 1U << (params.bits - e);
  const unsigned rows = alone ? 1U : std::max(1U, choice.row_threads / team);
  const unsigned polys = most_polys(params);
  const dim3 grid((1U << (params.log_n - params.bits)) / rows, params.groups.limbs);
  const std::size_t words = std::size_t{polys} * rows * exchange_words(params.bits, e);
  run(launch, name, kernel, grid, dim3(team * rows, polys), words * sizeof(WordT), params);
}

template <typename WordT, unsigned e, typename ParamsT>
void forward(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  if (params.log_n <= one_kernel_log_n) {
    run_rows<WordT, e>(launch, "ntt", ntt_rows<WordT, e, 0, ParamsT>, choice, params);
    return;
  }
  const bool fixed = params.log_n == 2 * row_stages;
  run_columns<WordT, e>(
      launch, "ntt_columns",
      fixed ? ntt_columns<WordT, e, row_stages, ParamsT> : ntt_columns<WordT, e, 0, ParamsT>, choice, params);
  run_rows<WordT, e>(launch, "ntt_rows", ntt_rows<WordT, e, row_stages, ParamsT>, choice, params);
}

template <typename WordT, unsigned e>
void inverse(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  if (params.log_n <= one_kernel_log_n) {
    run_rows<WordT, e>(launch, "intt", intt_rows<WordT, e, 0>, choice, params);
    return;
  }
  const bool fixed = params.log_n == 2 * row_stages;
  run_rows<WordT, e>(launch, "intt_rows", intt_rows<WordT, e, row_stages>, choice, params);
  run_columns<WordT, e>(launch, "intt_columns",
                        fixed ? intt_columns<WordT, e, row_stages> : intt_columns<WordT, e, 0>, choice,
                        params);
}

}  // namespace

template <typename WordT>
void launch_ntt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  choice.log_words == 4 ? forward<WordT, 4>(launch, choice, params)
                        : forward<WordT, 3>(launch, choice, params);
}

template <typename WordT>
void launch_intt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  choice.log_words == 4 ? inverse<WordT, 4>(launch, choice, params)
                        : inverse<WordT, 3>(launch, choice, params);
}

template <typename WordT>
void launch_ntt_combine(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params) {
  choice.log_words == 4 ? forward<WordT, 4>(launch, choice, params)
                        : forward<WordT, 3>(launch, choice, params);
}

template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint32_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
