// SPDX-License-Identifier: Apache-2.0
#include "bench_ntt_family_variants.hpp"

#include <algorithm>

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_launch.hpp"
#include "backend/cuda/ntt/ntt_tile.cuh"

namespace halocline::bench {

using namespace backend::cuda;

namespace {

/// Stages that the blocks of the shared-memory variants run: 4096 words, or 2048 with two words per thread.
constexpr unsigned block_stages = 12;
constexpr unsigned shuffle_stages = 11;

template <typename WordT>
struct family_params {
  ntt_family_batch<WordT> batch;
  std::uint32_t stage = 0;  ///< first stage of this kernel
};

/// Words of polynomial `poly`.
template <typename WordT>
__device__ inline WordT* words_of(const ntt_family_batch<WordT>& of, std::uint32_t poly) {
  return of.data + (static_cast<std::size_t>(poly) << of.log_n);
}

template <typename WordT>
__device__ inline twiddle_table<WordT> table_of(const ntt_family_batch<WordT>& of, std::uint32_t poly) {
  const std::uint32_t prime = poly % of.primes;
  const std::size_t n = std::size_t{1} << of.log_n;
  const WordT* const roots = of.roots + 4 * n * prime;
  const WordT q = of.moduli[prime].value;
  return {roots, roots + n, q, lazy_bound(q)};
}

/// `c` stages through device memory; a thread has 2^c words.
template <typename WordT, unsigned c>
__global__ void __launch_bounds__(256) family_global(const __grid_constant__ family_params<WordT> params) {
  begin_kernel();
  const auto& of = params.batch;
  const unsigned low = of.log_n - params.stage - c;
  const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, group = t >> low;
  WordT* const words =
      words_of(of, blockIdx.y) + ((static_cast<std::size_t>(group) << (low + c)) | (t & ((1U << low) - 1)));
  WordT x[1U << c];
#pragma unroll
  for (unsigned i = 0; i < 1U << c; ++i) x[i] = words[static_cast<std::size_t>(i) << low];
  forward_round<c, c>(x, table_of(of, blockIdx.y), (1U << params.stage) + group);
#pragma unroll
  for (unsigned i = 0; i < 1U << c; ++i) words[static_cast<std::size_t>(i) << low] = x[i];
}

/// Full reduction: the naive variant's last pass.
template <typename WordT>
__global__ void __launch_bounds__(256) family_reduce(const __grid_constant__ family_params<WordT> params) {
  begin_kernel();
  WordT* const words = words_of(params.batch, blockIdx.y);
  const auto at = table_of(params.batch, blockIdx.y);
  const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  words[t] = reduce_product(reduce_once<WordT>(words[t], at.bound), at.q);
}

template <typename WordT>
__device__ inline void butterfly(WordT& low, WordT& high, const twiddle_table<WordT>& at,
                                 std::uint32_t node) {
  WordT pair[2] = {low, high};
  forward_stage<1, 0>(pair, at, node);
  low = pair[0];
  high = pair[1];
}

/// The last 11 stages of 2048 words: radix 2 in shared memory, then within warps.
template <typename WordT>
__global__ void __launch_bounds__(1024) family_shuffle(const __grid_constant__ family_params<WordT> params) {
  begin_kernel();
  __shared__ WordT words[1U << shuffle_stages];
  const auto at = table_of(params.batch, blockIdx.y);
  const std::uint32_t t = threadIdx.x, root = (1U << params.stage) + blockIdx.x;
  WordT* const data =
      words_of(params.batch, blockIdx.y) + (static_cast<std::size_t>(blockIdx.x) << shuffle_stages);
  WordT a = data[t], b = data[t + 1024];
  butterfly(a, b, at, root);
  for (unsigned stage = 1, half = 512; half >= 32; ++stage, half /= 2) {
    const unsigned before = 2 * half, was = t / before * 2 * before + t % before;
    words[was] = a;
    words[was + before] = b;
    __syncthreads();
    const unsigned at_word = t / half * 2 * half + t % half;
    a = words[at_word];
    b = words[at_word + half];
    butterfly(a, b, at, (root << stage) + t / half);
    __syncthreads();
  }
  for (unsigned stage = 6, half = 16; half >= 1; ++stage, half /= 2) {
    const bool upper = (t & half) != 0;
    const WordT got = __shfl_xor_sync(0xFFFFFFFFU, upper ? a : b, half);
    (upper ? a : b) = got;
    butterfly(a, b, at, (root << stage) + t / half);
  }
  data[2 * t] = reduce_product(reduce_once<WordT>(a, at.bound), at.q);
  data[2 * t + 1] = reduce_product(reduce_once<WordT>(b, at.bound), at.q);
}

/// The last 12 stages of 4096 words: rounds of radix 2^e in shared memory.
template <typename WordT, unsigned e>
__global__ void __launch_bounds__(1U << (block_stages - e))
    family_shared(const __grid_constant__ family_params<WordT> params) {
  begin_kernel();
  extern __shared__ uint4 area[];
  WordT* const shared = reinterpret_cast<WordT*>(area);
  const auto at = table_of(params.batch, blockIdx.y);
  WordT* const data =
      words_of(params.batch, blockIdx.y) + (static_cast<std::size_t>(blockIdx.x) << block_stages);
  const ntt_thread<WordT, e, block_stages> on{
      at, data, data, shared, (1U << params.stage) + blockIdx.x, threadIdx.x, block_stages, 0, 0};
  WordT x[1U << e];
#pragma unroll
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.forward_step(s, x);
  }
  on.put(on.rounds() - 1, x);
  __syncthreads();
  for (std::uint32_t t = threadIdx.x; t < 1U << block_stages; t += blockDim.x)
    data[t] = reduce_product(reduce_once<WordT>(shared[on.place(t)], at.bound), at.q);
}

template <typename WordT, unsigned c>
void run_global(const launcher& launch, family_params<WordT>& params) {
  const unsigned blocks = 1U << (params.batch.log_n - c - 8);
  launch("family_global", family_global<WordT, c>, dim3(blocks, params.batch.count), dim3(256), 0, params);
  params.stage += c;
}

/// The first stages, `most` at a time, until `left` are left.
template <typename WordT>
void run_global_stages(const launcher& launch, family_params<WordT>& params, unsigned most, unsigned left) {
  while (params.batch.log_n - params.stage > left) {
    switch (std::min(most, params.batch.log_n - params.stage - left)) {
      case 1:
        run_global<WordT, 1>(launch, params);
        break;
      case 2:
        run_global<WordT, 2>(launch, params);
        break;
      case 3:
        run_global<WordT, 3>(launch, params);
        break;
      default:
        run_global<WordT, 4>(launch, params);
        break;
    }
  }
}

template <typename WordT, unsigned e>
void run_radix(const launcher& launch, family_params<WordT>& params) {
  run_global_stages(launch, params, e, block_stages);
  const dim3 grid(1U << (params.batch.log_n - block_stages), params.batch.count);
  launch("family_shared", family_shared<WordT, e>, grid, dim3(1U << (block_stages - e)),
         exchange_words(block_stages, e) * sizeof(WordT), params);
}

template <typename WordT>
void run_production(const launcher& launch, const ntt_family_batch<WordT>& batch) {
  const ntt_choice choice =
      choose_ntt(launch.device().architecture(), 8 * sizeof(WordT), batch.log_n, batch.count);
  plain_ntt_params<WordT> params;
  params.moduli = batch.moduli;
  params.roots = batch.roots;
  params.log_n = batch.log_n;
  const std::uint32_t polys = batch.count / batch.primes;
  for (std::uint32_t first = 0; first < polys;) {
    ntt_group<WordT> group;
    for (; group.polys < choice.polys && first < polys; ++first) {
      WordT* const at = batch.data + ((static_cast<std::size_t>(first) * batch.primes) << batch.log_n);
      group.src[group.polys] = at;
      group.dst[group.polys++] = at;
    }
    params.groups.add(group, batch.primes);
    if (params.groups.jobs < ntt_group<WordT>::capacity && first < polys) continue;
    launch_ntt(launch, choice, params);
    params.groups.jobs = params.groups.limbs = 0;
  }
}

}  // namespace

std::string_view to_string(ntt_variant variant) noexcept {
  constexpr std::string_view names[] = {"naive", "shuffle", "radix4", "radix8", "radix16", "production"};
  return names[static_cast<unsigned>(variant)];
}

unsigned ntt_passes(ntt_variant variant, unsigned log_n) noexcept {
  const unsigned before = log_n - block_stages;
  switch (variant) {
    case ntt_variant::naive:
      return log_n + 1;
    case ntt_variant::shuffle:
      return log_n - shuffle_stages + 1;
    case ntt_variant::radix4:
      return (before + 1) / 2 + 1;
    case ntt_variant::radix8:
      return (before + 2) / 3 + 1;
    case ntt_variant::radix16:
      return (before + 3) / 4 + 1;
    default:
      return log_n <= one_kernel_log_n ? 1 : 2;
  }
}

template <typename WordT>
void run_ntt_variant(const launcher& launch, ntt_variant variant, const ntt_family_batch<WordT>& batch) {
  family_params<WordT> params{batch};
  switch (variant) {
    case ntt_variant::naive:
      run_global_stages(launch, params, 1, 0);
      launch("family_reduce", family_reduce<WordT>, dim3(1U << (batch.log_n - 8), batch.count), dim3(256), 0,
             params);
      break;
    case ntt_variant::shuffle:
      run_global_stages(launch, params, 1, shuffle_stages);
      launch("family_shuffle", family_shuffle<WordT>, dim3(1U << (batch.log_n - shuffle_stages), batch.count),
             dim3(1024), 0, params);
      break;
    case ntt_variant::radix4:
      run_radix<WordT, 2>(launch, params);
      break;
    case ntt_variant::radix8:
      run_radix<WordT, 3>(launch, params);
      break;
    case ntt_variant::radix16:
      run_radix<WordT, 4>(launch, params);
      break;
    case ntt_variant::production:
      run_production(launch, batch);
      break;
  }
}

template void run_ntt_variant(const launcher&, ntt_variant, const ntt_family_batch<std::uint32_t>&);
template void run_ntt_variant(const launcher&, ntt_variant, const ntt_family_batch<std::uint64_t>&);

}  // namespace halocline::bench
