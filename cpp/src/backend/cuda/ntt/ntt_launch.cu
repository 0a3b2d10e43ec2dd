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

void launch_ntt_columns(const launcher& launch, plain_ntt_params<std::uint32_t>& params) {
  constexpr unsigned e = ntt_log_words(32), k = row_stages;
  constexpr ntt_choice choice{e, most_row_threads, 1, true};
  phases<false, std::uint32_t, ntt_shape<e, k, 2 * k, e>, ntt_shape<e, k, 2 * k, 0, true>, 0,
         plain_ntt_params<std::uint32_t>>(launch, choice, params)
      .columns();
}

template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_ntt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint32_t>&);
template void launch_intt(const launcher&, const ntt_choice&, plain_ntt_params<std::uint64_t>&);

}  // namespace halocline::backend::cuda
