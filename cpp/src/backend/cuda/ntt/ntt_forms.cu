// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_forms.hpp"

#include "backend/cuda/ntt/ntt_transform.cuh"

namespace halocline::backend::cuda {
namespace {

using word = std::uint64_t;

/// Two kernels, 2^e words per thread.
template <bool inverse, unsigned sources, unsigned e, unsigned n, template <typename, bool> typename TableT,
          unsigned room, typename ParamsT>
void run_two(const launcher& launch, ntt_choice choice, ParamsT& params) {
  using columns = ntt_shape<e, n - row_stages, n, e, false, TableT, room>;
  using far = ntt_shape<e, row_stages, n, 0, false, TableT, room>;
  using near = ntt_shape<e, row_stages, n, 0, true, TableT, room>;
  choice.log_columns = e;
  if (choice.near_twiddles) {
    return phases<inverse, word, columns, near, sources, ParamsT>(launch, choice, params).run();
  }
  phases<inverse, word, columns, far, sources, ParamsT>(launch, choice, params).run();
}

template <bool inverse, unsigned sources, unsigned n, typename ParamsT>
void run_size(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  constexpr unsigned e = ntt_log_words(64);
  switch (choice.form) {
    case ntt_form::lean:
      return run_two<inverse, sources, e, n, lean_table, 0>(launch, choice, params);
    case ntt_form::wide:
      return run_two<inverse, sources, e + 1, n, lean_table, 24>(launch, choice, params);
    default:
      return run_two<inverse, sources, e, n, twiddle_table, 0>(launch, choice, params);
  }
}

}  // namespace

template <bool inverse, unsigned sources, typename ParamsT>
void run_form(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  if (choice.form >= ntt_form::cluster) return run_cluster_form<inverse, sources>(launch, choice, params);
  params.log_n == 14 ? run_size<inverse, sources, 14>(launch, choice, params)
                     : run_size<inverse, sources, 15>(launch, choice, params);
}

template void run_form<false, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_form<true, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_form<false, 0>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_form<false, reduced_source>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_form<false, reduced_source>(const launcher&, const ntt_choice&, reduced_params<word>&);

}  // namespace halocline::backend::cuda
