// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_cluster_kernel.cuh"
#include "backend/cuda/ntt/ntt_forms.hpp"

namespace halocline::backend::cuda {
namespace {

using word = std::uint64_t;

template <bool inverse, unsigned sources, unsigned n, typename ParamsT>
void run_size(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  using exact = cluster_shape<4, n, twiddle_table>;
  using lean = cluster_shape<4, n, lean_table>;
  using half = cluster_shape<3, n, lean_table>;
  switch (choice.form) {
    case ntt_form::cluster_lean:
      return run_cluster<inverse, lean, 32, sources>(launch, params);
    case ntt_form::cluster_roomy:
      return run_cluster<inverse, lean, 24, sources>(launch, params);
    case ntt_form::cluster_half:
      return run_cluster<inverse, half, 32, sources>(launch, params);
    default:
      return run_cluster<inverse, exact, 24, sources>(launch, params);
  }
}

}  // namespace

template <bool inverse, unsigned sources, typename ParamsT>
void run_cluster_form(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  params.log_n == 14 ? run_size<inverse, sources, 14>(launch, choice, params)
                     : run_size<inverse, sources, 15>(launch, choice, params);
}

template void run_cluster_form<false, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_cluster_form<true, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_cluster_form<false, 0>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_cluster_form<false, reduced_source>(const launcher&, const ntt_choice&,
                                                      combine_params<word>&);
template void run_cluster_form<false, reduced_source>(const launcher&, const ntt_choice&,
                                                      reduced_params<word>&);

}  // namespace halocline::backend::cuda
