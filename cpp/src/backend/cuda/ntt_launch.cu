// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt_launch.hpp"

#include <algorithm>

#include "backend/cuda/grid_order.cuh"
#include "backend/cuda/ntt_kernels.cuh"

namespace halocline::backend::cuda {

/// What is known about a kernel when it is compiled: words per thread 2^e, stages k of the sub-transforms,
/// log2 N and log2 of the columns of a block; 0: any. `near`: twiddles of rows come through shared memory.
template <unsigned words, unsigned stages, unsigned log_n, unsigned log_columns, bool in_shared = false>
struct ntt_shape {
  static constexpr unsigned e = words, k = stages, n = log_n, c = log_columns;
  static constexpr bool near = in_shared;
  /// Most threads of a block.
  static constexpr unsigned column_threads = c != 0 ? 1U << (k - e + c) : most_ntt_threads;
  static constexpr unsigned row_threads = n != 0 ? most_row_threads : most_ntt_threads;
  /// Blocks that a multiprocessor must have room for: 40 warps, so 48 registers, which hold the kernels
  /// without spilling more than a word or two; 32 and 48 warps were measured as well and gain less.
  static constexpr unsigned blocks(unsigned threads) { return n == 0 ? 1 : 40 * 32 / threads; }
};

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

/// Where a block of a kernel is.
struct block_place {
  std::uint32_t limb;   ///< of the batch
  std::uint32_t poly;   ///< of the limb's group; rows kernels: differs between the threads
  std::uint32_t block;  ///< of the limb's blocks
};

template <typename WordT, typename S, typename ParamsT>
__device__ inline void forward_columns(const ParamsT& params, const block_place& in) {
  const std::uint32_t group = params.groups.find(in.limb);
  auto place = find_limb<false, S::n>(params, group, in.limb, in.poly);
  if constexpr (!std::is_same_v<ParamsT, plain_ntt_params<WordT>>)
    place.dst = const_cast<WordT*>(place.src);  // the combination needs both its inputs
  const auto on = column_thread<S::e, S::k, S::c>(params, place, in.block, threadIdx.x,
                                                  reinterpret_cast<WordT*>(exchange_area));
  wait_for_previous();
  if (!has_poly(params, group, in.poly)) return;
  WordT x[1U << S::e];
#pragma unroll(S::k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.forward_step(s, x);
  }
  on.store(on.rounds() - 1, x);
}

template <typename WordT, typename S, typename ParamsT>
__device__ inline void inverse_columns(const ParamsT& params, const block_place& in) {
  const std::uint32_t group = params.groups.find(in.limb);
  auto place = find_limb<true, S::n>(params, group, in.limb, in.poly);
  place.src = place.dst;  // what the rows kernel left
  const auto on = column_thread<S::e, S::k, S::c>(params, place, in.block, threadIdx.x,
                                                  reinterpret_cast<WordT*>(exchange_area));
  wait_for_previous();
  if (!has_poly(params, group, in.poly)) return;
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
__device__ inline auto this_row(const ntt_params<WordT, GroupT>& params, const ntt_place<WordT>& place,
                                std::uint32_t block) {
  const unsigned bits = S::k != 0 ? S::k : params.bits;
  const std::uint32_t rows = blockDim.x >> (bits - S::e);
  WordT* const area = reinterpret_cast<WordT*>(exchange_area);
  WordT* const shared = area + threadIdx.y * rows * exchange_words(bits, S::e);
  if constexpr (S::near) {
    const std::size_t table = std::size_t{2} * rows << S::k;
    const auto on = row_thread<S::e, S::k, S::n>(params, place, block * rows, threadIdx.x, shared + table);
    const std::uint32_t inside = threadIdx.x >> (bits - S::e);
    fetch_table<S::k>(area, place.at, rows, on.node - inside);
    return with_near_table(on, area, rows, inside);
  } else {
    return row_thread<S::e, S::k, S::n>(params, place, block * rows, threadIdx.x, shared);
  }
}

template <typename WordT, typename S, typename ParamsT>
__device__ inline void forward_rows(const ParamsT& params, const block_place& in) {
  constexpr bool plain = std::is_same_v<ParamsT, plain_ntt_params<WordT>>;
  const std::uint32_t poly = in.poly, number = params.groups.find(in.limb);
  auto place = find_limb<false, S::n>(params, number, in.limb, poly);
  // What the columns kernel left; a ring that needs none is transformed from its source.
  if constexpr (plain && S::k != 0) place.src = place.dst;
  const auto on = this_row<S>(params, place, in.block);
  const bool used = has_poly(params, number, poly);
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

template <typename WordT, typename S, typename ParamsT>
__device__ inline void inverse_rows(const ParamsT& params, const block_place& in) {
  const std::uint32_t poly = in.poly, group = params.groups.find(in.limb);
  const auto place = find_limb<true, S::n>(params, group, in.limb, poly);
  const auto on = this_row<S>(params, place, in.block);
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

/// Limb of a block. The second phase of a transform takes limbs in the opposite order: what the first phase
/// wrote last is still in the cache.
template <bool second, typename ParamsT>
__device__ inline std::uint32_t limb_of_block(const ParamsT& params) {
  return second ? params.groups.limbs - 1 - blockIdx.z : blockIdx.z;
}

template <bool inverse, typename WordT, typename S, typename ParamsT>
__global__ void __launch_bounds__(S::column_threads, S::blocks(S::column_threads))
    columns_kernel(const __grid_constant__ ParamsT params) {
  let_next_begin();
  const block_place in{limb_of_block<inverse>(params), blockIdx.y, blockIdx.x};
  if constexpr (inverse) {
    inverse_columns<WordT, S>(params, in);
  } else {
    forward_columns<WordT, S>(params, in);
  }
}

template <bool inverse, typename WordT, typename S, typename ParamsT>
__global__ void __launch_bounds__(S::row_threads, S::blocks(S::row_threads))
    rows_kernel(const __grid_constant__ ParamsT params) {
  let_next_begin();
  const block_place in{limb_of_block < !inverse && S::k != 0 > (params), threadIdx.y, blockIdx.x};
  if constexpr (inverse) {
    inverse_rows<WordT, S>(params, in);
  } else {
    forward_rows<WordT, S>(params, in);
  }
}

template <typename ParamsT>
unsigned most_polys(const ParamsT& params) {
  std::uint32_t most = 1;
  for (std::uint32_t g = 0; g < params.groups.jobs; ++g) most = std::max(most, params.groups.items[g].polys);
  return most;
}

/// Launches the phases of one batch.
template <bool inverse, typename WordT, typename C, typename R, typename ParamsT>
class phases {
 public:
  phases(const launcher& launch, const ntt_choice& choice, ParamsT& params)
      : launch_(launch), choice_(choice), params_(params), polys_(most_polys(params)) {}

  void run() {
    if (inverse || R::k == 0) rows();
    if (R::k != 0) columns();
    if (!inverse && R::k != 0) rows();
  }

 private:
  static constexpr unsigned e = ntt_log_words(8 * sizeof(WordT));

  [[nodiscard]] unsigned column_bits() const { return params_.log_n - row_stages; }
  [[nodiscard]] std::size_t column_bytes() const {
    const unsigned bits = column_bits();
    return ((std::size_t{1} << bits) + (std::size_t{1} << (bits - e))) * sizeof(WordT) << choice_.log_columns;
  }
  [[nodiscard]] unsigned row_bits() const {
    return params_.log_n <= one_kernel_log_n ? params_.log_n : row_stages;
  }
  [[nodiscard]] unsigned team() const { return 1U << (row_bits() - e); }
  [[nodiscard]] unsigned rows_per_block() const {
    return params_.log_n <= one_kernel_log_n ? 1U : std::max(1U, choice_.row_threads / team());
  }
  [[nodiscard]] std::size_t row_bytes() const {
    const std::size_t words = std::size_t{polys_} * rows_per_block() * exchange_words(row_bits(), e) +
                              (R::near ? std::size_t{2} * rows_per_block() << row_bits() : 0);
    return words * sizeof(WordT);
  }

  void columns() {
    params_.bits = column_bits();
    params_.log_columns = choice_.log_columns;
    run(inverse ? "intt_columns" : "ntt_columns", columns_kernel<inverse, WordT, C, ParamsT>,
        dim3(1U << (row_stages - choice_.log_columns), polys_, params_.groups.limbs),
        dim3(1U << (column_bits() - e + choice_.log_columns)), column_bytes());
  }
  void rows() {
    params_.bits = row_bits();
    const char* const name = R::k == 0 ? (inverse ? "intt" : "ntt") : (inverse ? "intt_rows" : "ntt_rows");
    const dim3 grid((1U << (params_.log_n - row_bits())) / rows_per_block(), 1, params_.groups.limbs);
    run(name, rows_kernel<inverse, WordT, R, ParamsT>, grid, dim3(team() * rows_per_block(), polys_),
        row_bytes());
  }
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
};

/// Runs a batch with the kernels for a choice.
template <bool inverse, typename WordT, typename ParamsT>
void transform(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  constexpr unsigned e = ntt_log_words(8 * sizeof(WordT)), k = row_stages;
  using narrow = ntt_shape<e, k, 2 * k, e>;  // columns kernels of 64 and 128 bytes side by side
  using wide = ntt_shape<e, k, 2 * k, e + 1>;
  using far = ntt_shape<e, k, 2 * k, 0>;
  using near = ntt_shape<e, k, 2 * k, 0, true>;
  using any = ntt_shape<e, 0, 0, 0>;
  const auto run = [&](auto columns, auto rows) {
    phases<inverse, WordT, decltype(columns), decltype(rows), ParamsT>(launch, choice, params).run();
  };
  if (params.log_n <= one_kernel_log_n) return run(any{}, any{});
  if (params.log_n != 2 * row_stages) return run(any{}, ntt_shape<e, k, 0, 0>{});
  const auto with_rows = [&](auto rows) {
    choice.log_columns == e ? run(narrow{}, rows) : run(wide{}, rows);
  };
  choice.near_twiddles ? with_rows(near{}) : with_rows(far{});
}

}  // namespace

template <typename WordT>
void launch_ntt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  transform<false, WordT>(launch, choice, params);
}

template <typename WordT>
void launch_intt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  transform<true, WordT>(launch, choice, params);
}

template <typename WordT>
void launch_ntt_combine(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params) {
  transform<false, WordT>(launch, choice, params);
}

template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint32_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
