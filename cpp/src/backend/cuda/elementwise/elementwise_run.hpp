// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/elementwise/elementwise_kind.hpp"
#include "backend/cuda/elementwise/elementwise_plan.hpp"

/// Which operation of `elementwise.cuh` a member of the executor is. `emit(op, name, params, limbs)` launches
/// it.
namespace halocline::backend::cuda {

template <typename OpT, typename WordT, unsigned sources, typename EmitT>
void run_binary_op(const resolver<WordT>& resolve, map_hints hints, const char* name,
                   std::span<const binary_job> jobs, const EmitT& emit) {
  plan_map<map_params<WordT, sources, 0>>(
      resolve, hints, jobs, [](const binary_job& job) -> const limb_view& { return job.dst; },
      [](const binary_job& job, unsigned s) -> const limb_view& {
        return s == 0 ? job.a : s == 1 ? job.b : job.dst;
      },
      [&](const auto& params, std::uint32_t limbs) { emit(OpT{}, name, params, limbs); });
}

template <typename WordT, typename EmitT>
void run_binary(binary_kind kind, const resolver<WordT>& resolve, map_hints hints,
                std::span<const binary_job> jobs, const EmitT& emit) {
  switch (kind) {
    case binary_kind::add:
      return run_binary_op<add_op, WordT, 2>(resolve, hints, "add", jobs, emit);
    case binary_kind::sub:
      return run_binary_op<sub_op, WordT, 2>(resolve, hints, "sub", jobs, emit);
    case binary_kind::multiply:
      return run_binary_op<multiply_op, WordT, 2>(resolve, hints, "multiply", jobs, emit);
    case binary_kind::multiply_add:
      return run_binary_op<multiply_add_op, WordT, 3>(resolve, hints, "multiply_add", jobs, emit);
  }
}

/// OpT: `negate_op` or `copy_op`.
template <typename OpT, typename WordT, typename EmitT>
void run_unary(const resolver<WordT>& resolve, map_hints hints, const char* name,
               std::span<const unary_job> jobs, const EmitT& emit) {
  plan_map<map_params<WordT, 1, 0>>(
      resolve, hints, jobs, [](const unary_job& job) -> const limb_view& { return job.dst; },
      [](const unary_job& job, unsigned) -> const limb_view& { return job.src; },
      [&](const auto& params, std::uint32_t limbs) { emit(OpT{}, name, params, limbs); });
}

template <typename WordT, typename EmitT>
void run_zero(const resolver<WordT>& resolve, map_hints hints, std::span<const limb_view> views,
              const EmitT& emit) {
  const auto itself = [](const limb_view& view, auto...) -> const limb_view& { return view; };
  plan_map<map_params<WordT, 0, 0>>(
      resolve, hints, views, itself, itself,
      [&](const auto& params, std::uint32_t limbs) { emit(zero_op{}, "set_zero", params, limbs); });
}

template <typename WordT, typename EmitT>
void run_scalar(scalar_kind kind, const resolver<WordT>& resolve, map_hints hints,
                std::span<const scalar_job> jobs, const EmitT& emit) {
  plan_map_constants<map_params<WordT, 1, map_constant_limbs>>(
      resolve, hints, jobs, [](const scalar_job& job, unsigned) -> const limb_view& { return job.src; },
      [](const scalar_job& job, std::uint32_t limb, std::uint64_t q) {
        const scalar_pair pair = job.scalars[limb];
        return limb_constants<WordT>{{static_cast<WordT>(pair.low), static_cast<WordT>(pair.high),
                                      quotient_of<WordT>(pair.low, q), quotient_of<WordT>(pair.high, q)}};
      },
      [&](const auto& params, std::uint32_t limbs) {
        if (kind == scalar_kind::add) {
          emit(scalar_add_op{}, "scalar_add", params, limbs);
        } else {
          emit(scalar_multiply_op{}, "scalar_multiply", params, limbs);
        }
      });
}

template <typename WordT, typename EmitT>
void run_linear(const resolver<WordT>& resolve, map_hints hints, std::span<const linear_job> jobs,
                const EmitT& emit) {
  plan_map_constants<map_params<WordT, 2, map_constant_limbs>>(
      resolve, hints, jobs,
      [](const linear_job& job, unsigned s) -> const limb_view& { return s == 0 ? job.a : job.b; },
      [](const linear_job& job, std::uint32_t limb, std::uint64_t q) {
        const std::uint64_t a = job.factor_a[limb], b = job.factor_b[limb];
        return limb_constants<WordT>{{static_cast<WordT>(a), static_cast<WordT>(b), quotient_of<WordT>(a, q),
                                      quotient_of<WordT>(b, q)}};
      },
      [&](const auto& params, std::uint32_t limbs) { emit(linear_op{}, "linear_combine", params, limbs); });
}

}  // namespace halocline::backend::cuda
