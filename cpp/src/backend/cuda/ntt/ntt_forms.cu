// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_forms.hpp"

#include "backend/cuda/ntt/ntt_transform.cuh"

namespace halocline::backend::cuda {
namespace {

using word = std::uint64_t;

template <bool inverse, unsigned sources, unsigned n, typename ParamsT>
void run_size(const launcher& launch, ntt_choice choice, ParamsT& params) {
  constexpr unsigned e = ntt_log_words(64);
  const auto run = [&](auto columns, auto rows) {
    choice.log_columns = decltype(columns)::c;
    phases<inverse, word, decltype(columns), decltype(rows), sources, ParamsT>(launch, choice, params).run();
  };
  if (choice.form == ntt_form::lean) {
    return run(ntt_shape<e, n - row_stages, n, e, false, lean_table>{},
               ntt_shape<e, row_stages, n, 0, true, lean_table>{});
  }
  if (choice.form == ntt_form::wide) {
    constexpr unsigned room = 24;  // 80 registers
    return run(ntt_shape<e + 1, n - row_stages, n, e + 1, false, lean_table, room>{},
               ntt_shape<e + 1, row_stages, n, 0, true, lean_table, room>{});
  }
  using columns = ntt_shape<e, n - row_stages, n, e>;
  choice.near_twiddles ? run(columns{}, ntt_shape<e, row_stages, n, 0, true>{})
                       : run(columns{}, ntt_shape<e, row_stages, n, 0>{});
}

}  // namespace

template <bool inverse, unsigned sources, typename ParamsT>
void run_form(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  params.log_n == 14 ? run_size<inverse, sources, 14>(launch, choice, params)
                     : run_size<inverse, sources, 15>(launch, choice, params);
}

template void run_form<false, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_form<true, 0>(const launcher&, const ntt_choice&, plain_ntt_params<word>&);
template void run_form<false, 0>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_form<false, reduced_source>(const launcher&, const ntt_choice&, combine_params<word>&);
template void run_form<false, reduced_source>(const launcher&, const ntt_choice&, reduced_params<word>&);

}  // namespace halocline::backend::cuda
