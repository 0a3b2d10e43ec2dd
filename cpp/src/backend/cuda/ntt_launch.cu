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

#ifndef NTT_WARPS
#define NTT_WARPS 48
#endif
#ifndef NTT_WARPS64
#define NTT_WARPS64 32
#endif
/// What is known about a kernel when it is compiled: words per thread 2^e, stages k of the sub-transforms,
/// log2 N and log2 of the columns of a block; 0: any. `near`: twiddles of rows come through shared memory.
template <unsigned words, unsigned stages, unsigned log_n, unsigned log_columns, bool in_shared = false>
struct shape {
  static constexpr unsigned e = words, k = stages, n = log_n, c = log_columns;
  static constexpr bool near = in_shared;
  /// Most threads of a block.
  static constexpr unsigned column_threads = c != 0 ? 1U << (k - e + c) : most_ntt_threads;
  static constexpr unsigned row_threads = n != 0 ? most_row_threads : most_ntt_threads;
  /// Blocks that a multiprocessor must have room for: 48 warps of 40 registers hold 47 limbs of 2^16 words in
  /// one go on 132 multiprocessors.
  static constexpr unsigned blocks(unsigned threads) {
    return n == 0 ? 1 : (e == 4 ? NTT_WARPS : NTT_WARPS64) * 32 / threads;
  }
};

template <typename WordT, typename S, typename ParamsT>
__global__ void __launch_bounds__(S::column_threads, S::blocks(S::column_threads))
    ntt_columns(const __grid_constant__ ParamsT params) {
  let_next_begin();
  const std::uint32_t limb = params.first_limb + blockIdx.y, poly = blockIdx.z;
  const std::uint32_t group = params.groups.find(limb);
  auto place = find_limb<false, S::n>(params, group, limb, poly);
  if constexpr (!std::is_same_v<ParamsT, plain_ntt_params<WordT>>)
    place.dst = const_cast<WordT*>(place.src);  // the combination needs both its inputs
  const auto on = column_thread<S::e, S::k, S::c>(params, place, blockIdx.x, threadIdx.x,
                                                  reinterpret_cast<WordT*>(exchange_area));
  wait_for_previous();
  if (!has_poly(params, group, poly)) return;
  WordT x[1U << S::e];
#pragma unroll(S::k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.forward_step(s, x);
  }
  on.store(on.rounds() - 1, x);
}

template <typename WordT, typename S>
__global__ void __launch_bounds__(S::column_threads, S::blocks(S::column_threads))
    intt_columns(const __grid_constant__ plain_ntt_params<WordT> params) {
  let_next_begin();
  const std::uint32_t limb = params.first_limb + blockIdx.y, poly = blockIdx.z;
  const std::uint32_t group = params.groups.find(limb);
  auto place = find_limb<true, S::n>(params, group, limb, poly);
  place.src = place.dst;  // what the rows kernel left
  const auto on = column_thread<S::e, S::k, S::c>(params, place, blockIdx.x, threadIdx.x,
                                                  reinterpret_cast<WordT*>(exchange_area));
  wait_for_previous();
  if (!has_poly(params, group, poly)) return;
  WordT x[1U << S::e];
  on.load(on.rounds() - 1, x);
#pragma unroll(S::k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.template inverse_step<true>(s, x);
  }
  on.store(0, x);
}

/// Starts to copy the twiddles of the block's rows to shared memory.
template <unsigned k, typename WordT>
__device__ inline void fetch_table(WordT* table, const twiddle_table<WordT>& from, std::uint32_t rows,
                                   std::uint32_t first) {
  constexpr std::uint32_t words = chunk<WordT>::words;
  const std::uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(table));
  for (std::uint32_t word = thread * words; word < rows << k; word += threads * words) {
    if (word < rows) continue;
    const std::uint32_t entry = near_entry(word, rows, first);
    const std::uint32_t at = to + word * sizeof(WordT);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from.roots + entry) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     at + static_cast<std::uint32_t>((rows << k) * sizeof(WordT))),
                 "l"(from.quotients + entry)
                 : "memory");
  }
}

/// Waits until all threads of the block have what `fetch_table` copies.
__device__ inline void wait_for_table() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
}

/// The thread's place in a rows kernel, blockDim.x threads per polynomial, and the start of the copy of its
/// twiddles.
template <typename S, typename WordT, typename GroupT>
__device__ inline auto this_row(const ntt_params<WordT, GroupT>& params, const ntt_place<WordT>& place) {
  const unsigned bits = S::k != 0 ? S::k : params.bits;
  const std::uint32_t rows = blockDim.x >> (bits - S::e);
  WordT* const area = reinterpret_cast<WordT*>(exchange_area);
  WordT* const shared = area + threadIdx.y * rows * exchange_words(bits, S::e);
  if constexpr (S::near) {
    const std::size_t table = std::size_t{2} * rows << S::k;
    const auto on =
        row_thread<S::e, S::k, S::n>(params, place, blockIdx.x * rows, threadIdx.x, shared + table);
    const std::uint32_t inside = threadIdx.x >> (bits - S::e);
    fetch_table<S::k>(area, place.at, rows, on.node - inside);
    return with_near_table(on, area, rows, inside);
  } else {
    return row_thread<S::e, S::k, S::n>(params, place, blockIdx.x * rows, threadIdx.x, shared);
  }
}

template <typename WordT, typename S, typename ParamsT>
__global__ void __launch_bounds__(S::row_threads, S::blocks(S::row_threads))
    ntt_rows(const __grid_constant__ ParamsT params) {
  let_next_begin();
  constexpr bool plain = std::is_same_v<ParamsT, plain_ntt_params<WordT>>;
  const std::uint32_t limb = params.first_limb + blockIdx.y, poly = threadIdx.y;
  const std::uint32_t in = params.groups.find(limb);
  auto place = find_limb<false, S::n>(params, in, limb, poly);
  // What the columns kernel left; a ring that needs none is transformed from its source.
  if constexpr (plain && S::k != 0) place.src = place.dst;
  const auto on = this_row<S>(params, place);
  const bool used = has_poly(params, in, poly);
  WordT x[1U << S::e];
  wait_for_previous();
  if (used) on.load(0, x);
  if constexpr (S::near) wait_for_table();
  if (!used) return;
#pragma unroll(S::k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) team_barrier<S::e, S::k>();
    on.forward_loaded(s, x);
  }
  if (on.rounds() > 1) team_barrier<S::e, S::k>();
  on.put_neighbours(x);
  team_barrier<S::e, S::k>();
  if constexpr (plain) {
    on.store_chunks([&](std::uint32_t, const chunk<WordT>& got) { return reduce_chunk(got, place.at); });
  } else {
    const auto& group = params.groups.items[place.group];
    const combine_factors<WordT> factors = params.factors[group.factors[poly] + place.limb];
    const auto* const a = reinterpret_cast<const chunk<WordT>*>(group.a[poly] + (on.dst - group.dst[poly]));
    on.store_chunks([&](std::uint32_t c, const chunk<WordT>& got) {
      return combine_chunk(read_chunk(a + c), got, factors, place.at);
    });
  }
}

template <typename WordT, typename S>
__global__ void __launch_bounds__(S::row_threads, S::blocks(S::row_threads))
    intt_rows(const __grid_constant__ plain_ntt_params<WordT> params) {
  let_next_begin();
  const std::uint32_t limb = params.first_limb + blockIdx.y, poly = threadIdx.y;
  const std::uint32_t group = params.groups.find(limb);
  const auto place = find_limb<true, S::n>(params, group, limb, poly);
  const auto on = this_row<S>(params, place);
  const bool used = has_poly(params, group, poly);
  WordT x[1U << S::e];
  wait_for_previous();
  if (used) on.load_chunks();
  if constexpr (S::near) wait_for_table();
  if (!used) return;
  team_barrier<S::e, S::k>();
  on.get_neighbours(x);
  team_barrier<S::e, S::k>();
#pragma unroll(S::k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) team_barrier<S::e, S::k>();
    on.template inverse_step<S::k == 0>(s, x);
  }
  on.store(0, x);
}

template <typename ParamsT>
unsigned most_polys(const ParamsT& params) {
  std::uint32_t most = 1;
  for (std::uint32_t g = 0; g < params.groups.jobs; ++g) most = std::max(most, params.groups.items[g].polys);
  return most;
}

/// Launches both phases of one batch.
template <typename WordT, typename ParamsT>
class phases {
 public:
  phases(const launcher& launch, const ntt_choice& choice, ParamsT& params)
      : launch_(launch), choice_(choice), params_(params), polys_(most_polys(params)) {}

  /// Calls `both()` for pieces of the batch that the cache holds, so that the second phase finds there what
  /// the first one wrote.
  template <typename BothT>
  void for_each_piece(const BothT& both) {
    const std::size_t limb = (std::size_t{polys_} * sizeof(WordT)) << params_.log_n;
    const std::size_t most = std::max<std::size_t>(1, (std::size_t{choice_.piece_mib} << 20) / limb);
    const std::size_t limbs = params_.groups.limbs;
    const std::size_t pieces = choice_.piece_mib == 0 ? 1 : (limbs + most - 1) / most;
    for (std::size_t p = 0; p < pieces; ++p) {
      params_.first_limb = static_cast<std::uint32_t>(limbs * p / pieces);
      limbs_ = static_cast<unsigned>(limbs * (p + 1) / pieces) - params_.first_limb;
      both();
    }
  }
  void columns(const char* name, void (*kernel)(ParamsT)) {
    params_.bits = params_.log_n - row_stages;
    params_.log_columns = choice_.log_columns;
    const unsigned threads = 1U << (params_.bits - e + choice_.log_columns);
    const dim3 grid(1U << (row_stages - choice_.log_columns), limbs_, polys_);
    const std::size_t words = ((std::size_t{1} << params_.bits) + (std::size_t{1} << (params_.bits - e)))
                              << choice_.log_columns;
    run(name, kernel, grid, dim3(threads), words * sizeof(WordT));
  }
  void rows(const char* name, void (*kernel)(ParamsT)) {
    const bool alone = params_.log_n <= one_kernel_log_n;
    params_.bits = alone ? params_.log_n : row_stages;
    const unsigned team = 1U << (params_.bits - e);
    const unsigned rows = alone ? 1U : std::max(1U, choice_.row_threads / team);
    const dim3 grid((1U << (params_.log_n - params_.bits)) / rows, limbs_);
    const bool near = choice_.near_twiddles && params_.log_n == 2 * row_stages;
    const std::size_t words = std::size_t{polys_} * rows * exchange_words(params_.bits, e) +
                              (near ? std::size_t{2} * rows << params_.bits : 0);
    run(name, kernel, grid, dim3(team * rows, polys_), words * sizeof(WordT));
  }

 private:
  static constexpr unsigned e = ntt_log_words(8 * sizeof(WordT));

  /// Raises the kernel's limit where a block needs more than every kernel may have.
  void run(const char* name, void (*kernel)(ParamsT), dim3 grid, dim3 block, std::size_t shared) {
    if (shared > 48 * 1024) {
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
            name);
    }
    launch_(name, kernel, grid, block, shared, params_);
  }

  const launcher& launch_;
  const ntt_choice& choice_;
  ParamsT& params_;
  unsigned polys_;
  unsigned limbs_ = 0;
};

/// Calls `use(shape of the columns kernel, shape of the rows kernel)` for a choice.
template <typename WordT, typename UseT>
void with_shapes(const ntt_choice& choice, unsigned log_n, const UseT& use) {
  constexpr unsigned e = ntt_log_words(8 * sizeof(WordT)), k = row_stages;
  using narrow = shape<e, k, 2 * k, e>;  // columns kernels of 64 and 128 bytes side by side
  using wide = shape<e, k, 2 * k, e + 1>;
  using far = shape<e, k, 2 * k, 0>;
  using near = shape<e, k, 2 * k, 0, true>;
  if (log_n <= one_kernel_log_n) return use(shape<e, 0, 0, 0>{}, shape<e, 0, 0, 0>{});
  if (log_n != 2 * row_stages) return use(shape<e, 0, 0, 0>{}, shape<e, k, 0, 0>{});
  const auto with_rows = [&](auto rows) {
    choice.log_columns == e ? use(narrow{}, rows) : use(wide{}, rows);
  };
  choice.near_twiddles ? with_rows(near{}) : with_rows(far{});
}

template <typename WordT, typename ParamsT>
void forward(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  phases<WordT, ParamsT> run(launch, choice, params);
  with_shapes<WordT>(choice, params.log_n, [&](auto columns, auto rows) {
    using c = decltype(columns);
    using r = decltype(rows);
    run.for_each_piece([&] {
      if (r::k != 0) run.columns("ntt_columns", ntt_columns<WordT, c, ParamsT>);
      run.rows(r::k != 0 ? "ntt_rows" : "ntt", ntt_rows<WordT, r, ParamsT>);
    });
  });
}

template <typename WordT>
void inverse(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  phases<WordT, plain_ntt_params<WordT>> run(launch, choice, params);
  with_shapes<WordT>(choice, params.log_n, [&](auto columns, auto rows) {
    using c = decltype(columns);
    using r = decltype(rows);
    run.for_each_piece([&] {
      run.rows(r::k != 0 ? "intt_rows" : "intt", intt_rows<WordT, r>);
      if (r::k != 0) run.columns("intt_columns", intt_columns<WordT, c>);
    });
  });
}

}  // namespace

template <typename WordT>
void launch_ntt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  forward<WordT>(launch, choice, params);
}

template <typename WordT>
void launch_intt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  inverse<WordT>(launch, choice, params);
}

template <typename WordT>
void launch_ntt_combine(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params) {
  forward<WordT>(launch, choice, params);
}

template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint32_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
