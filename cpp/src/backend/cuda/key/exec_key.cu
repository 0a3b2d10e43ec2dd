// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/elementwise/kernel_tuning.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/key/key_plan.hpp"
#include "backend/cuda/key/key_rows.hpp"
#include "backend/cuda/key/key_seeded_choice.hpp"
#include "backend/cuda/ntt/ntt_jobs.hpp"
#include "backend/cuda/ntt/ntt_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t key_threads = 128;

template <typename WordT>
__global__ void __launch_bounds__(key_threads) key_kernel(const __grid_constant__ key_params<WordT> p) {
  begin_kernel();
  key_body(p, position_of(p, here()));
}

/// `summed`: jobs may have several parts. The loop over them takes registers from kernels of one.
template <typename WordT, bool summed>
__global__ void __launch_bounds__(key_threads)
    key_turned_kernel(const __grid_constant__ key_params<WordT> p) {
  begin_kernel();
  __shared__ pack<WordT> exchange[2 * key_threads];
  const std::uint32_t parts = summed ? key_parts(p, position_of(p, here())) : 1;
#pragma unroll 1
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (part != 0) __syncthreads();  // the sums of the part before are taken
    const key_position at = position_of(p, here(), part);
    key_turned_body(p, key_source(p, at), exchange);
    __syncthreads();
    key_turn(p, at, exchange);
  }
}

/// Blocks of words of a block of threads, `packs` of them, for one part of a job: where their results go, and
/// where they are computed.
template <typename WordT, bool turned, unsigned packs>
class key_seeded_places {
 public:
  __device__ __forceinline__ key_seeded_places(const key_params<WordT>& p, std::uint32_t job,
                                               std::uint32_t part)
      : job_(job), part_(part) {
#pragma unroll
    for (unsigned k = 0; k < packs; ++k) block_[k] = turned ? key_source(p, at(k)).block_x : at(k).block_x;
  }
  [[nodiscard]] __device__ __forceinline__ key_position at(unsigned k) const {
    return {{blockIdx.x * packs + k, blockIdx.y, threadIdx.x, stream_blocks}, job_, part_};
  }
  [[nodiscard]] __device__ __forceinline__ key_position source(unsigned k) const {
    return {{k == 0 ? block_[0] : block_[packs - 1], blockIdx.y, threadIdx.x, stream_blocks}, job_, part_};
  }

 private:
  std::uint32_t job_, part_;
  std::uint32_t block_[packs];
};

/// Copies and expands what a round of digits from `first` on needs.
template <unsigned packs, unsigned known, typename WordT, stream_rule Rule, typename PlacesT>
__device__ __forceinline__ void key_seeded_round(const key_params<WordT>& p, const PlacesT& places,
                                                 std::uint32_t first, key_shared<WordT, Rule>& shared) {
  constexpr std::uint32_t digits = key_rooms<packs>::digits;
#pragma unroll
  for (unsigned k = 0; k < packs; ++k) key_fetch<packs, known>(p, places.source(k), k, first, shared);
  stream_fill(shared.a, [&](std::uint32_t j) {
    const std::uint32_t room = j / key_blocks;
    return key_stream(p, places.source(room / digits), first + room % digits, j % key_blocks);
  });
  wait_async();
  if (first == 0) let_next_begin();
}

/// One part of a job: `key_seeded_kernel`.
template <typename WordT, stream_rule Rule, typename FormT>
__device__ __forceinline__ void key_seeded_part(const key_params<WordT>& p, std::uint32_t job,
                                                std::uint32_t part, key_shared<WordT, Rule>& shared) {
  constexpr unsigned packs = FormT::packs;
  constexpr unsigned known = FormT::known;
  const key_seeded_places<WordT, FormT::turned, packs> places(p, job, part);
  const std::uint32_t digits = FormT::single ? 1 : p.jobs.items[job + part].digits;
  key_sums<WordT> sums{};
#pragma unroll 1
  for (std::uint32_t first = 0; first < digits; first += key_rooms<packs>::digits) {
    if (first != 0) __syncthreads();  // the tile is free again
    key_seeded_round<packs, known>(p, places, first, shared);
    if constexpr (packs == 1) key_add_group<packs, known>(p, places.source(0), 0, first, shared, sums);
  }
#pragma unroll
  for (unsigned k = 0; k < packs; ++k) {
    if constexpr (packs != 1) {  // one round of digits
      sums = {};
      key_add_group<packs, known>(p, places.source(k), k, 0, shared, sums);
    }
    if constexpr (FormT::turned) {
      key_seeded_keep(p, places.source(k), sums, key_exchange<packs>(shared, k));
    } else {
      key_seeded_finish(p, places.source(k), sums);
    }
  }
  if constexpr (FormT::turned) {
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < packs; ++k) key_turn(p, places.at(k), key_exchange<packs>(shared, k));
  }
}

/// What is known about a launch when its kernel is compiled.
/// `is_single`: no part has more than one round of digits, so that no sums are kept while keys are expanded.
/// `is_turned`: jobs may have permutations and several parts. `pack_count`: of a thread; with several,
/// `single`. `digits`: of all parts, all of them seeded; then `single` too; 0: any.
template <bool is_single, bool is_turned, unsigned pack_count = 1, unsigned digits = 0>
struct key_seeded_form {
  static constexpr bool single = is_single, turned = is_turned;
  static constexpr unsigned packs = pack_count, known = digits;
  static_assert(single || (packs == 1 && known == 0));
  static_assert(known <= key_rooms<packs>::digits);
};

template <typename WordT, stream_rule Rule, typename FormT>
__global__ void __launch_bounds__(stream_blocks, FormT::single ? 5 : 4)
    key_seeded_kernel(const __grid_constant__ key_params<WordT> p) {
  wait_for_previous();
  __shared__ key_shared<WordT, Rule> shared;
  const key_position at = position_of(p, here());
  const std::uint32_t parts = FormT::turned ? key_parts(p, at) : 1;
#pragma unroll 1
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (part != 0) __syncthreads();  // the sums of the part before are taken
    key_seeded_part<WordT, Rule, FormT>(p, at.job, part, shared);
  }
}

template <typename WordT>
auto stored_kernel(const key_params<WordT>& p) {
  if (!p.turned) return key_kernel<WordT>;
  return p.summed ? key_turned_kernel<WordT, true> : key_turned_kernel<WordT, false>;
}

template <typename WordT, stream_rule Rule>
auto seeded_kernel_of(const key_params<WordT>& p) {
  const bool single = most_digits(p) <= key_group;
  if (p.turned) {
    return single ? key_seeded_kernel<WordT, Rule, key_seeded_form<true, true>>
                  : key_seeded_kernel<WordT, Rule, key_seeded_form<false, true>>;
  }
  return single ? key_seeded_kernel<WordT, Rule, key_seeded_form<true, false>>
                : key_seeded_kernel<WordT, Rule, key_seeded_form<false, false>>;
}

/// Those of the rule of today's seeds for parts of `known` digits.
template <typename WordT, unsigned packs, unsigned known>
auto spare_kernel(const key_params<WordT>& p) {
  constexpr stream_rule rule = stream_rule::chacha8_spare;
  return p.turned ? key_seeded_kernel<WordT, rule, key_seeded_form<true, true, packs, known>>
                  : key_seeded_kernel<WordT, rule, key_seeded_form<true, false, packs, known>>;
}

template <typename WordT>
auto seeded_kernel(const key_params<WordT>& p, std::uint32_t packs) {
  if (p.rule != stream_rule::chacha8_spare) return seeded_kernel_of<WordT, stream_rule::chacha20_retry>(p);
  const std::uint32_t digits = seeded_digits(p);
  if (packs == 2) {
    if (digits == 1) return spare_kernel<WordT, 2, 1>(p);
    return digits == 2 ? spare_kernel<WordT, 2, 2>(p) : spare_kernel<WordT, 2, 0>(p);
  }
  if (digits == 3) return spare_kernel<WordT, 1, 3>(p);
  return digits == 4 ? spare_kernel<WordT, 1, 4>(p) : seeded_kernel_of<WordT, stream_rule::chacha8_spare>(p);
}

/// Transforms digits in coefficient form: only their first phase, and true, where kernels of products do the
/// second one. They do in rings of 2^16 with 32-bit words, unless any key is seeded.
template <typename WordT>
bool transform_digits(const executor<WordT>& on, const kernel_tuning& tuning, std::span<const key_job> jobs) {
  const std::vector<unary_job> transforms = transforms_of(jobs);
  if (transforms.empty()) return false;
  if constexpr (sizeof(WordT) == 4) {
    if (tuning.key_rows && on.resolve.log_n() == 2 * row_stages && !any_seeded(jobs)) {
      transform_columns(on, transforms);
      return true;
    }
  }
  transform_limbs<WordT>(on, transforms, false);
  return false;
}

template <typename WordT>
void key_multiply_accumulate(const executor<WordT>& on, std::span<const key_job> jobs) {
  const kernel_tuning& tuning = tuning_of(on.launch.device().architecture());
  const bool rows = transform_digits(on, tuning, jobs);
  plan_key(on.resolve, tuning.keys, cache_hint::normal, rows, jobs,
           [&](const key_params<WordT>& params, std::uint32_t limbs) {
             if constexpr (sizeof(WordT) == 4) {
               if (params.rows) return launch_key_rows(on.launch, params, limbs);
             }
             const std::uint32_t packs = params.words / pack<WordT>::size;
             if (params.seeded) {
               const std::uint32_t each = seeded_packs(params);
               const std::uint32_t blocks = (packs + each * stream_blocks - 1) / (each * stream_blocks);
               return on.launch(params.turned ? "key_multiply_seeded_turned" : "key_multiply_seeded",
                                seeded_kernel(params, each), dim3(blocks, limbs), dim3(stream_blocks), 0,
                                params);
             }
             const launch_shape shape = shape_of(packs, 1, key_threads);
             on.launch(params.turned ? "key_multiply_turned" : "key_multiply", stored_kernel(params),
                       dim3(shape.blocks, limbs), dim3(shape.threads), 0, params);
           });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> key_operations() {
  return op_table<executor<WordT>>{
      row<key_multiply_accumulate<WordT>>(ops::key_multiply_accumulate),
  };
}

template op_table<executor<std::uint32_t>> key_operations();
template op_table<executor<std::uint64_t>> key_operations();

}  // namespace halocline::backend::cuda
