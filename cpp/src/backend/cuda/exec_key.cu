// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/executor.hpp"
#include "backend/cuda/grid_order.cuh"
#include "backend/cuda/kernel_tuning.hpp"
#include "backend/cuda/key_plan.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t key_threads = 128;

template <typename WordT>
__global__ void __launch_bounds__(key_threads) key_kernel(const __grid_constant__ key_params<WordT> p) {
  begin_kernel();
  key_body(p, here());
}

template <typename WordT>
__global__ void __launch_bounds__(key_threads)
    key_seeded_kernel(const __grid_constant__ key_params<WordT> p) {
  begin_kernel();
  key_seeded_body(p, here());
}

}  // namespace

template <typename WordT>
void executor<WordT>::key_multiply_accumulate(std::span<const key_job> jobs) const {
  const kernel_tuning& tuning = tuning_of(launch_.device().architecture());
  plan_key(resolve_, tuning.keys, tuning.products.load, jobs,
           [&](const key_params<WordT>& params, std::uint32_t limbs) {
             const std::uint32_t per_thread =
                 params.seeded ? ring::words_per_block<WordT> : pack<WordT>::size;
             const launch_shape shape = shape_of(params.words / per_thread, 1, key_threads);
             launch_(params.seeded ? "key_multiply_seeded" : "key_multiply",
                     params.seeded ? key_seeded_kernel<WordT> : key_kernel<WordT>, dim3(shape.blocks, limbs),
                     dim3(shape.threads), 0, params);
           });
}

template void executor<std::uint32_t>::key_multiply_accumulate(std::span<const key_job>) const;
template void executor<std::uint64_t>::key_multiply_accumulate(std::span<const key_job>) const;

}  // namespace halocline::backend::cuda
