// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_launch.hpp"

#include "backend/cuda/ntt/ntt_transform.cuh"

namespace halocline::backend::cuda {

template <typename WordT>
void launch_ntt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  run_transform<false, 0, WordT>(launch, choice, params);
}

template <typename WordT>
void launch_intt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params) {
  run_transform<true, 0, WordT>(launch, choice, params);
}

template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
