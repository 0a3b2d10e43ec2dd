// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/elementwise/kernel_tuning.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/key/key_dot_piped.hpp"
#include "backend/cuda/key/key_dot_plan.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t key_dot_threads = 128;

template <typename WordT, unsigned sums, unsigned at_once>
__global__ void __launch_bounds__(key_dot_threads, sizeof(WordT) == 4 ? 5 : 2)
    key_dot_kernel(const __grid_constant__ key_dot_params<WordT> p) {
  begin_kernel();
  key_dot_body<WordT, sums, at_once>(p, here());
}

/// Sums of a launch: more need registers for which a multiprocessor has too few blocks.
constexpr unsigned sums_in_registers = 4;

template <typename WordT, unsigned at_once>
auto kernel_for(std::uint32_t sums) {
  if (sums == 1) return key_dot_kernel<WordT, 1, at_once>;
  if (sums == 2) return key_dot_kernel<WordT, 2, at_once>;
  return key_dot_kernel<WordT, sums_in_registers, at_once>;
}

/// Terms with few keys are read several at once, so that as many loads are under way.
template <typename WordT>
auto kernel_for(std::uint32_t sums, std::uint32_t most_keys) {
  if (most_keys <= 1) return kernel_for<WordT, 4>(sums);
  return most_keys == 2 ? kernel_for<WordT, 2>(sums) : kernel_for<WordT, 1>(sums);
}

template <typename WordT>
void key_dot(const executor<WordT>& on, std::span<const key_dot_job> jobs) {
  const kernel_tuning& tuning = tuning_of(on.launch.device().architecture());
  if constexpr (sizeof(WordT) == 4) {
    if (tuning.pipe_key_dot && pipes_key_dot(on, jobs)) return piped_key_dot(on, tuning.keys, jobs);
  }
  plan_key_dot(on.resolve, tuning.keys, cache_hint::normal, sums_in_registers, jobs,
               [&](const key_dot_params<WordT>& params, std::uint32_t limbs) {
                 const std::uint32_t threads = std::min(key_dot_threads, params.words / 2);
                 on.launch("key_dot", kernel_for<WordT>(params.all.sums, params.all.most_keys),
                           dim3(params.words / (2 * threads), limbs), dim3(threads), 0, params);
               });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> key_dot_operations() {
  return op_table<executor<WordT>>{row<key_dot<WordT>>(ops::key_dot)};
}

template op_table<executor<std::uint32_t>> key_dot_operations();
template op_table<executor<std::uint64_t>> key_dot_operations();

}  // namespace halocline::backend::cuda
