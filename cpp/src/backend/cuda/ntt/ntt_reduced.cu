// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_launch.hpp"
#include "backend/cuda/ntt/ntt_transform.cuh"

namespace halocline::backend::cuda {

template <typename WordT>
void launch_ntt_reduced(const launcher& launch, const ntt_choice& choice, reduced_params<WordT>& params) {
  run_transform<false, reduced_source, WordT>(launch, choice, params);
}

template <typename WordT>
void launch_combine_reduced(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params) {
  run_transform<false, reduced_source, WordT>(launch, choice, params);
}

template void launch_ntt_reduced(const launcher&, const ntt_choice&, reduced_params<std::uint32_t>&);
template void launch_ntt_reduced(const launcher&, const ntt_choice&, reduced_params<std::uint64_t>&);
template void launch_combine_reduced(const launcher&, const ntt_choice&, combine_params<std::uint32_t>&);
template void launch_combine_reduced(const launcher&, const ntt_choice&, combine_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
