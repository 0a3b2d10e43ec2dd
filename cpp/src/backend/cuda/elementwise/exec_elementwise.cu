// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/elementwise/dot_plan.hpp"
#include "backend/cuda/elementwise/elementwise_run.hpp"
#include "backend/cuda/elementwise/kernel_tuning.hpp"
#include "backend/cuda/executor.hpp"

namespace halocline::backend::cuda {
namespace {

/// Lets kernels begin by reading parameters and tables, which no kernel writes.
struct previous_kernel {
  __device__ void operator()() const { wait_for_previous(); }
};

template <typename OpT, typename ParamsT>
__global__ void __launch_bounds__(256) map_kernel(const __grid_constant__ ParamsT p) {
  let_next_begin();
  map_body<OpT>(p, here(), previous_kernel{});
}

template <typename WordT>
__global__ void __launch_bounds__(256) dot_kernel(const __grid_constant__ dot_params<WordT> p) {
  begin_kernel();
  dot_body(p, here());
}

template <typename WordT>
__global__ void __launch_bounds__(256) pair_kernel(const __grid_constant__ pair_params<WordT> p) {
  begin_kernel();
  pair_body(p, here());
}

template <typename WordT>
__global__ void __launch_bounds__(256) tensor_kernel(const __grid_constant__ tensor_params<WordT> p) {
  let_next_begin();
  tensor_body(p, here(), previous_kernel{});
}

template <typename WordT>
__global__ void __launch_bounds__(256) keep_kernel(const __grid_constant__ keep_params<WordT> p) {
  begin_kernel();
  keep_body(p, here());
}

template <typename WordT>
__global__ void __launch_bounds__(256)
    automorphism_kernel(const __grid_constant__ automorphism_params<WordT> p) {
  begin_kernel();
  automorphism_body(p, here());
}

template <typename WordT>
__global__ void __launch_bounds__(256) shift_kernel(const __grid_constant__ shift_params<WordT> p) {
  begin_kernel();
  shift_body(p, here());
}

/// Launches `kernel` for `units` units per row, `per_thread` of them per thread.
template <typename ParamsT>
void launch_rows(const launcher& launch, const char* name, void (*kernel)(ParamsT), std::uint32_t units,
                 std::uint32_t per_thread, const ParamsT& params, std::uint32_t rows) {
  const std::uint32_t threads = tuning_of(launch.device().architecture()).threads;
  const launch_shape shape = shape_of(units, per_thread, threads);
  launch(name, kernel, dim3(shape.blocks, rows), dim3(shape.threads), 0, params);
}

/// What `run_binary` and its like emit to.
struct map_launch {
  const launcher& launch;

  template <typename OpT, typename ParamsT>
  void operator()(OpT, const char* name, const ParamsT& params, std::uint32_t limbs) const {
    launch_rows(launch, name, map_kernel<OpT, ParamsT>, params.words / pack<typename ParamsT::word>::size, 1,
                params, limbs);
  }
};

/// Hints for jobs that move `limbs` limbs of `limb_bytes`.
map_hints hints_of(const launcher& launch, std::uint64_t limbs, std::size_t limb_bytes) {
  const kernel_tuning& tuning = tuning_of(launch.device().architecture());
  return limbs * limb_bytes <= tuning.cached_bytes ? tuning.small : tuning.large;
}

/// Limbs of all destinations.
template <typename JobT>
std::uint64_t limbs_of(std::span<const JobT> jobs) {
  std::uint64_t limbs = 0;
  for (const JobT& each : jobs) limbs += each.dst.primes.count;
  return limbs;
}

template <typename WordT, binary_kind kind>
void binary(const executor<WordT>& on, std::span<const binary_job> jobs) {
  const unsigned passes = kind == binary_kind::multiply_add ? 4 : 3;
  const map_hints hints = hints_of(on.launch, passes * limbs_of(jobs), on.resolve.ring().limb_bytes());
  run_binary(kind, on.resolve, hints, jobs, map_launch{on.launch});
}

template <typename WordT>
void negate(const executor<WordT>& on, std::span<const unary_job> jobs) {
  run_unary<negate_op>(on.resolve, hints_of(on.launch, 2 * limbs_of(jobs), on.resolve.ring().limb_bytes()),
                       "negate", jobs, map_launch{on.launch});
}

template <typename WordT>
void copy(const executor<WordT>& on, std::span<const unary_job> jobs) {
  std::vector<unary_job> whole;
  for (const unary_job& each : jobs) {
    if (each.dst.log_repeat == 0) whole.push_back(each);
  }
  run_unary<copy_op>(on.resolve, hints_of(on.launch, 2 * limbs_of(jobs), on.resolve.ring().limb_bytes()),
                     "copy", whole, map_launch{on.launch});
  plan_keep(on.resolve, jobs, [&](const keep_params<WordT>& params, std::uint32_t limbs) {
    launch_rows(on.launch, "keep_repeated", keep_kernel<WordT>, params.words >> least_log_repeat, 1, params,
                limbs);
  });
}

template <typename WordT>
void set_zero(const executor<WordT>& on, std::span<const limb_view> views) {
  run_zero(on.resolve, {}, views, map_launch{on.launch});
}

template <typename WordT, scalar_kind kind>
void scalar(const executor<WordT>& on, std::span<const scalar_job> jobs) {
  const map_hints hints = hints_of(on.launch, 2 * limbs_of(jobs), on.resolve.ring().limb_bytes());
  run_scalar(kind, on.resolve, hints, jobs, map_launch{on.launch});
}

template <typename WordT>
void linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs) {
  const map_hints hints = hints_of(on.launch, 3 * limbs_of(jobs), on.resolve.ring().limb_bytes());
  run_linear(on.resolve, hints, jobs, map_launch{on.launch});
}

template <typename WordT>
void dot(const executor<WordT>& on, std::span<const dot_job> jobs) {
  const auto pairs = [&](const pair_params<WordT>& params, std::uint32_t limbs) {
    launch_rows(on.launch, "dot_pairs", pair_kernel<WordT>, params.words / half_pack<WordT>::size, 1, params,
                limbs);
  };
  const std::vector<dot_job> rest = plan_pairs(on.resolve, jobs, pairs);
  const auto single = [&](const dot_params<WordT>& params, std::uint32_t limbs) {
    launch_rows(on.launch, "dot", dot_kernel<WordT>, params.words / pack<WordT>::size, 1, params, limbs);
  };
  plan_dot<WordT>(on.resolve, {}, rest, single);
}

template <typename WordT>
void tensor(const executor<WordT>& on, std::span<const tensor_job> jobs) {
  std::uint64_t limbs = 0;
  for (const tensor_job& each : jobs) limbs += 7 * each.d0.primes.count;
  const map_hints hints = hints_of(on.launch, limbs, on.resolve.ring().limb_bytes());
  plan_tensor(on.resolve, hints, jobs, [&](const tensor_params<WordT>& params, std::uint32_t limbs) {
    launch_rows(on.launch, "tensor", tensor_kernel<WordT>, params.words / pack<WordT>::size, 1, params,
                limbs);
  });
}

template <typename WordT>
void automorphism(const executor<WordT>& on, std::span<const automorphism_job> jobs) {
  plan_automorphism(on.resolve, {}, jobs, [&](const automorphism_params<WordT>& params, std::uint32_t rows) {
    launch_rows(on.launch, "automorphism", automorphism_kernel<WordT>, params.words, 1, params, rows);
  });
}

template <typename WordT>
void negacyclic_shift(const executor<WordT>& on, std::span<const shift_job> jobs) {
  plan_shift(on.resolve, jobs, [&](const shift_params<WordT>& params, std::uint32_t rows) {
    launch_rows(on.launch, "negacyclic_shift", shift_kernel<WordT>, params.words, 1, params, rows);
  });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> elementwise_operations() {
  return op_table<executor<WordT>>{
      row<binary<WordT, binary_kind::add>>(ops::add),
      row<binary<WordT, binary_kind::sub>>(ops::sub),
      row<negate<WordT>>(ops::negate),
      row<binary<WordT, binary_kind::multiply>>(ops::multiply),
      row<binary<WordT, binary_kind::multiply_add>>(ops::multiply_add),
      row<dot<WordT>>(ops::dot),
      row<tensor<WordT>>(ops::tensor),
      row<scalar<WordT, scalar_kind::multiply>>(ops::scalar_multiply),
      row<scalar<WordT, scalar_kind::add>>(ops::scalar_add),
      row<linear_combine<WordT>>(ops::linear_combine),
      row<automorphism<WordT>>(ops::automorphism),
      row<negacyclic_shift<WordT>>(ops::negacyclic_shift),
      row<copy<WordT>>(ops::copy),
      row<set_zero<WordT>>(ops::set_zero),
  };
}

template op_table<executor<std::uint32_t>> elementwise_operations();
template op_table<executor<std::uint64_t>> elementwise_operations();

}  // namespace halocline::backend::cuda
