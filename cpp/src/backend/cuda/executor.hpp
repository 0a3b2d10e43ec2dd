// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/device/launcher.hpp"
#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/elementwise/elementwise_kind.hpp"
#include "halocline/backend/capability.hpp"
#include "halocline/backend/client_jobs.hpp"
#include "halocline/backend/key_jobs.hpp"

namespace halocline::backend::cuda {

/// Runs the batches of one step. Each family of members is implemented, and instantiated for both words, in
/// the file named behind it, next to its kernels.
template <typename WordT>
class executor {
 public:
  executor(device_context& device, std::string_view op, const ring_tables& ring, const memory::access& at)
      : launch_(device, op), resolve_(ring, at) {}

  // exec_elementwise.cu
  void binary(binary_kind kind, std::span<const binary_job> jobs) const;
  void negate(std::span<const unary_job> jobs) const;
  void scalar(scalar_kind kind, std::span<const scalar_job> jobs) const;
  void linear_combine(std::span<const linear_job> jobs) const;
  void dot(std::span<const dot_job> jobs) const;
  void tensor(std::span<const tensor_job> jobs) const;
  void copy(std::span<const unary_job> jobs) const;
  void set_zero(std::span<const limb_view> views) const;
  void automorphism(std::span<const automorphism_job> jobs) const;

  // exec_ntt.cu
  void ntt(std::span<const unary_job> jobs) const;
  void intt(std::span<const unary_job> jobs) const;
  void ntt_linear_combine(std::span<const linear_job> jobs) const;

  // exec_convert.cu
  void base_convert(std::span<const convert_job> jobs) const;

  // exec_key.cu
  void key_multiply_accumulate(std::span<const key_job> jobs) const;

  // exec_sample.cu
  void encode_expand(std::span<const encode_job> jobs) const;
  void sample_uniform(std::span<const uniform_job> jobs) const;

  // exec_client.cu, exec_slots.cu
  void sample_small(std::span<const small_job> jobs) const;
  void round_coefficients(std::span<const round_job> jobs) const;
  void lift(std::span<const lift_job> jobs) const;
  void slot_transform(std::span<const slot_job> jobs) const;

 private:
  launcher launch_;
  resolver<WordT> resolve_;
};

}  // namespace halocline::backend::cuda
