// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_launch.hpp"
#include "backend/cuda/ntt/ntt_transform.cuh"

namespace halocline::backend::cuda {

template <typename WordT>
void launch_ntt_combine(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params) {
  static_assert(max_joined_sources == 4);
  switch (params.sources) {
    case 0:
      return run_transform<false, 0, WordT>(launch, choice, params);
    case 1:
      return run_transform<false, 1, WordT>(launch, choice, params);
    case 2:
      return run_transform<false, 2, WordT>(launch, choice, params);
    case 3:
      return run_transform<false, 3, WordT>(launch, choice, params);
    case reduced_source:
      return launch_combine_reduced(launch, choice, params);
    default:
      return run_transform<false, 4, WordT>(launch, choice, params);
  }
}

template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint32_t>&);
template void launch_ntt_combine(const launcher&, const ntt_choice&, combine_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
