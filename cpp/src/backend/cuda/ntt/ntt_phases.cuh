// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_converted.cuh"
#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/ntt/ntt_tuning.hpp"

/// What one block of a production transform does: columns or rows of one limb, forward or back. Device code;
/// each phase calls `ready()` before it touches data that an earlier kernel or phase writes.
namespace halocline::backend::cuda {

/// What is known about a kernel when it is compiled: words per thread 2^e, stages k of the sub-transforms,
/// log2 N and log2 of the columns of a block; 0: any. `near`: twiddles of rows come through shared memory.
/// `room`: warps that a multiprocessor must have room for; 0: as below.
template <unsigned words, unsigned stages, unsigned log_n, unsigned log_columns, bool in_shared = false,
          template <typename, bool> typename TableT = twiddle_table, unsigned room = 0>
struct ntt_shape {
  static constexpr unsigned e = words, k = stages, n = log_n, c = log_columns;
  static constexpr bool near = in_shared;
  template <typename WordT, bool in_block>
  using table = TableT<WordT, in_block>;
  /// Most threads of a block.
  static constexpr unsigned column_threads = c != 0 ? 1U << (k - e + c) : most_ntt_threads;
  static constexpr unsigned row_threads = n != 0 ? most_row_threads : most_ntt_threads;
  /// Warps that a multiprocessor must have room for: 40, so 48 registers, which hold the kernels without
  /// spilling more than a word or two; 48 where twiddles are only quotients, which gains up to 3 %.
  static constexpr unsigned warps = room != 0 ? room : near && words == 4 ? 48 : 40;
  static constexpr unsigned blocks(unsigned threads) { return n == 0 ? 1 : warps * 32 / threads; }
};

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

/// Where a thread of a kernel is.
struct block_place {
  std::uint32_t limb;     ///< of the batch
  std::uint32_t poly;     ///< of the limb's group; rows: differs between the threads of a block
  std::uint32_t block;    ///< of the limb's blocks
  std::uint32_t thread;   ///< of the block; rows: of the polynomial's threads
  std::uint32_t threads;  ///< rows: per polynomial
};

template <typename WordT, typename S, unsigned sources = 0, typename ParamsT, typename ReadyT>
__device__ inline void forward_columns(const ParamsT& params, const block_place& in, const ReadyT& ready) {
  const std::uint32_t group = params.groups.find(in.limb);
  auto place = find_limb<false, S::n, S::template table>(params, group, in.limb, in.poly);
  if constexpr (std::is_same_v<ParamsT, combine_params<WordT>>)
    place.dst = const_cast<WordT*>(place.src);  // the combination needs both its inputs
  const auto on = column_thread<S::e, S::k, S::c, S::n>(params, place, in.block, in.thread,
                                                        reinterpret_cast<WordT*>(exchange_area));
  const first_words<sources, WordT, ParamsT> first(params, place, in.poly);
  ready();
  if (!has_poly(params, group, in.poly)) return;
  WordT x[1U << S::e];
  first.load(on, x);
#pragma unroll(S::k == 0 ? 1 : 4)
  for (unsigned s = 0; s < on.rounds(); ++s) {
    if (s != 0) __syncthreads();
    on.forward_loaded(s, x);
  }
  on.store(on.rounds() - 1, x);
}

template <typename WordT, typename S, typename ParamsT, typename ReadyT>
__device__ inline void inverse_columns(const ParamsT& params, const block_place& in, const ReadyT& ready) {
  const std::uint32_t group = params.groups.find(in.limb);
  auto place = find_limb<true, S::n, S::template table>(params, group, in.limb, in.poly);
  place.src = place.dst;  // what the rows kernel left
  const auto on = column_thread<S::e, S::k, S::c, S::n>(params, place, in.block, in.thread,
                                                        reinterpret_cast<WordT*>(exchange_area));
  ready();
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
template <unsigned k, typename WordT, typename TableT>
__device__ inline void fetch_table(WordT* table, const TableT& from, std::uint32_t rows,
                                   std::uint32_t first) {
  constexpr std::uint32_t words = chunk<WordT>::words;
  const std::uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(table));
  for (std::uint32_t word = thread * words; word < rows << k; word += threads * words) {
    if (word < rows) continue;
    const std::uint32_t entry = near_entry(word, rows, first);
    const std::uint32_t at = to + word * sizeof(WordT);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from.quotients + entry)
                 : "memory");
    if constexpr (!quotients_suffice<WordT>) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       at + static_cast<std::uint32_t>((rows << k) * sizeof(WordT))),
                   "l"(from.roots + entry)
                   : "memory");
    }
  }
}

/// Waits until all threads of the block have what `fetch_table` copies.
__device__ inline void wait_for_table() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
}

/// The thread's place among the rows, and the start of the copy of its twiddles.
template <typename S, typename WordT, typename GroupT, typename PlaceT>
__device__ inline auto this_row(const ntt_params<WordT, GroupT>& params, const PlaceT& place,
                                const block_place& in) {
  const unsigned bits = S::k != 0 ? S::k : params.bits;
  const std::uint32_t rows = in.threads >> (bits - S::e);
  WordT* const area = reinterpret_cast<WordT*>(exchange_area);
  WordT* const shared = area + in.poly * rows * exchange_words(bits, S::e);
  if constexpr (S::near) {
    const std::size_t table = near_table_words<WordT>(rows, S::k);
    const auto on = row_thread<S::e, S::k, S::n>(params, place, in.block * rows, in.thread, shared + table);
    const std::uint32_t inside = in.thread >> (bits - S::e);
    fetch_table<S::k>(area, place.at, rows, on.node - inside);
    return with_near_table(on, area, rows, inside);
  } else {
    return row_thread<S::e, S::k, S::n>(params, place, in.block * rows, in.thread, shared);
  }
}

/// `sources`: of rings without columns.
template <typename WordT, typename S, unsigned sources = 0, typename ParamsT, typename ReadyT>
__device__ inline void forward_rows(const ParamsT& params, const block_place& in, const ReadyT& ready) {
  constexpr bool plain = !std::is_same_v<ParamsT, combine_params<WordT>>;
  const std::uint32_t poly = in.poly, number = params.groups.find(in.limb);
  auto place = find_limb<false, S::n, S::template table>(params, number, in.limb, poly);
  // What the columns kernel left; a ring that needs none is transformed from its source.
  if constexpr (plain && S::k != 0) place.src = place.dst;
  const auto on = this_row<S>(params, place, in);
  const bool used = has_poly(params, number, poly);
  const first_words<sources, WordT, ParamsT> first_of(params, place, poly);
  WordT x[1U << S::e];
  ready();
  if (used) first_of.load(on, x);
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
  store_results(params, place, poly, on);
}

template <typename WordT, typename S, typename ParamsT, typename ReadyT>
__device__ inline void inverse_rows(const ParamsT& params, const block_place& in, const ReadyT& ready) {
  const std::uint32_t poly = in.poly, group = params.groups.find(in.limb);
  const auto place = find_limb<true, S::n, S::template table>(params, group, in.limb, poly);
  const auto on = this_row<S>(params, place, in);
  const bool used = has_poly(params, group, poly);
  WordT x[1U << S::e];
  ready();
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

}  // namespace halocline::backend::cuda
