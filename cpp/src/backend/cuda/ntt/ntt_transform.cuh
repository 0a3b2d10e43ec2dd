// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "backend/cuda/ntt/ntt_forms.hpp"
#include "backend/cuda/ntt/ntt_joined.hpp"
#include "backend/cuda/ntt/ntt_phases.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"

/// Kernels of the production transforms and their launch, for the files that instantiate them.
namespace halocline::backend::cuda {

/// Limb of a block. The second phase of a transform takes limbs in the opposite order: what the first phase
/// wrote last is still in the cache.
template <bool second, typename ParamsT>
__device__ inline std::uint32_t limb_of_block(const ParamsT& params) {
  return second ? params.groups.limbs - 1 - blockIdx.z : blockIdx.z;
}

template <bool inverse, typename WordT, typename S, typename ParamsT, unsigned sources>
__global__ void __launch_bounds__(S::column_threads, S::blocks(S::column_threads))
    columns_kernel(const __grid_constant__ ParamsT params) {
  let_next_begin();
  const block_place in{limb_of_block<inverse>(params), blockIdx.y, blockIdx.x, threadIdx.x, blockDim.x};
  if constexpr (inverse) {
    inverse_columns<WordT, S>(params, in, wait_for_previous);
  } else {
    forward_columns<WordT, S, sources>(params, in, wait_for_previous);
  }
}

template <bool inverse, typename WordT, typename S, typename ParamsT, unsigned sources>
__global__ void __launch_bounds__(S::row_threads, S::blocks(S::row_threads))
    rows_kernel(const __grid_constant__ ParamsT params) {
  let_next_begin();
  const block_place in{limb_of_block < !inverse && S::k != 0 > (params), threadIdx.y, blockIdx.x, threadIdx.x,
                       blockDim.x};
  if constexpr (inverse) {
    inverse_rows<WordT, S>(params, in, wait_for_previous);
  } else {
    forward_rows<WordT, S, sources>(params, in, wait_for_previous);
  }
}

/// Launches the phases of one batch, of which the first converts that many `sources`.
template <bool inverse, typename WordT, typename C, typename R, unsigned sources, typename ParamsT>
class phases {
 public:
  phases(const launcher& launch, const ntt_choice& choice, ParamsT& params)
      : launch_(launch), choice_(choice), params_(params), polys_(most_polys(params)) {}

  void run() {
    if (inverse || R::k == 0) rows();
    if (R::k != 0) columns();
    if (!inverse && R::k != 0) rows();
  }
  void columns() {
    constexpr auto kernel = columns_kernel<inverse, WordT, C, ParamsT, sources>;
    params_.bits = column_bits();
    params_.log_columns = choice_.log_columns;
    if (R::near) prefer_shared(launch_, kernel);
    run_phase(launch_, inverse ? "intt_columns" : "ntt_columns", kernel,
              dim3(1U << (row_stages - choice_.log_columns), polys_, params_.groups.limbs),
              dim3(1U << (column_bits() - e + choice_.log_columns)), column_bytes(), params_);
  }

 private:
  static constexpr unsigned e = R::e;

  [[nodiscard]] unsigned column_bits() const { return params_.log_n - row_stages; }
  [[nodiscard]] std::size_t column_bytes() const {
    const unsigned bits = column_bits();
    return ((std::size_t{1} << bits) + (std::size_t{1} << (bits - e))) * sizeof(WordT) << choice_.log_columns;
  }
  [[nodiscard]] unsigned row_bits() const {
    return params_.log_n <= one_kernel_log_n ? params_.log_n : row_stages;
  }
  [[nodiscard]] unsigned team() const { return 1U << (row_bits() - e); }
  [[nodiscard]] unsigned rows_per_block() const {
    return params_.log_n <= one_kernel_log_n ? 1U : std::max(1U, choice_.row_threads / team());
  }
  [[nodiscard]] std::size_t row_bytes() const {
    const std::size_t words = std::size_t{polys_} * rows_per_block() * exchange_words(row_bits(), e) +
                              (R::near ? near_table_words<WordT>(rows_per_block(), row_bits()) : 0);
    return words * sizeof(WordT);
  }

  void rows() {
    constexpr auto kernel = rows_kernel < inverse, WordT, R, ParamsT, R::k == 0 ? sources : 0 > ;
    params_.bits = row_bits();
    const char* const name = R::k == 0 ? (inverse ? "intt" : "ntt") : (inverse ? "intt_rows" : "ntt_rows");
    const dim3 grid((1U << (params_.log_n - row_bits())) / rows_per_block(), 1, params_.groups.limbs);
    if (R::near) prefer_shared(launch_, kernel);
    run_phase(launch_, name, kernel, grid, dim3(team() * rows_per_block(), polys_), row_bytes(), params_);
  }

  const launcher& launch_;
  const ntt_choice& choice_;
  ParamsT& params_;
  unsigned polys_;
};

/// Runs a batch with the kernels for a choice.
template <bool inverse, unsigned sources, typename WordT, typename ParamsT>
void run_transform(const launcher& launch, const ntt_choice& choice, ParamsT& params) {
  constexpr unsigned e = ntt_log_words(8 * sizeof(WordT)), k = row_stages;
  using narrow = ntt_shape<e, k, 2 * k, e>;  // columns kernels of 64 and 128 bytes side by side
  using wide = ntt_shape<e, k, 2 * k, e + 1>;
  using far = ntt_shape<e, k, 2 * k, 0>;
  using near = ntt_shape<e, k, 2 * k, 0, true>;
  using any = ntt_shape<e, 0, 0, 0>;
  const auto run = [&](auto columns, auto rows) {
    phases<inverse, WordT, decltype(columns), decltype(rows), sources, ParamsT>(launch, choice, params).run();
  };
  if (params.log_n <= one_kernel_log_n) return run(any{}, any{});
  if constexpr (sizeof(WordT) == 4 && sources != reduced_source) {
    if (joined_fits(choice, params)) return run_joined<inverse, sources>(launch, choice, params);
  }
  if constexpr (sizeof(WordT) == 8 && (sources == 0 || sources == reduced_source)) {
    if (has_forms(params.log_n)) return run_form<inverse, sources>(launch, choice, params);
  }
  if (params.log_n != 2 * row_stages) return run(any{}, ntt_shape<e, k, 0, 0>{});
  // Conversions have no kernels of their own for blocks that no row of the tuning table asks for.
  using other = std::conditional_t<sources == 0, wide, any>;
  const auto with_rows = [&](auto rows) {
    choice.log_columns == e ? run(narrow{}, rows) : run(other{}, rows);
  };
  choice.near_twiddles ? with_rows(near{}) : with_rows(far{});
}

}  // namespace halocline::backend::cuda
