// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/executor.hpp"

namespace halocline::backend::cpu {
namespace {

template <typename WordT>
void sample_small(const executor<WordT>& on, std::span<const small_job> jobs) {
  run_sample_small(on.client, jobs);
}

template <typename WordT>
void slot_transform(const executor<WordT>& on, std::span<const slot_job> jobs) {
  run_slot_transform(on.client, jobs);
}

template <typename WordT>
void round_coefficients(const executor<WordT>& on, std::span<const round_job> jobs) {
  run_round_coefficients(on.client, jobs);
}

template <typename WordT>
void lift(const executor<WordT>& on, std::span<const lift_job> jobs) {
  run_lift<WordT>(on.client, jobs);
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> client_operations() {
  return op_table<executor<WordT>>{
      row<sample_small<WordT>>(ops::sample_small),
      row<slot_transform<WordT>>(ops::slot_transform),
      row<round_coefficients<WordT>>(ops::round_coefficients),
      row<lift<WordT>>(ops::lift),
  };
}

template op_table<executor<std::uint32_t>> client_operations();
template op_table<executor<std::uint64_t>> client_operations();

}  // namespace halocline::backend::cpu
