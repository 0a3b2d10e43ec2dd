// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "backend/cuda/ntt/ntt_converted.cuh"
#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/ntt/ntt_tuning.hpp"
#include "cuda_ntt_machine.hpp"

/// The GPU transforms, run on the host: every thread of every block, step by step, with the code that the
/// kernels run between two barriers.
namespace halocline::test {

using namespace backend::cuda;

/// Threads of one block between barriers.
template <typename WordT, unsigned e, unsigned k, typename TableT = twiddle_table<WordT>>
struct block {
  std::vector<ntt_thread<WordT, e, k, false, false, TableT>> threads;
  std::vector<std::array<WordT, 1U << e>> x;

  template <typename StepT>
  void step(const StepT& run) {
    for (std::size_t t = 0; t < threads.size(); ++t)
      run(threads[t], *reinterpret_cast<WordT(*)[1U << e]>(x[t].data()));
  }
};

/// Rounds of a block whose words are loaded. `last`: the inverse ones end a transform.
template <bool inverse, bool last, typename BlockT>
void run_rounds(BlockT& on) {
  for (unsigned s = 0; s < on.threads[0].rounds(); ++s) {
    on.step([&](const auto& each, auto& x) {
      if constexpr (inverse) {
        each.template inverse_step<last>(s, x);
      } else {
        each.forward_loaded(s, x);
      }
    });
  }
}

/// Calls `run(place, block number)` for all limbs of the launch.
template <bool inverse, template <typename, bool> typename TableT = twiddle_table, typename ParamsT,
          typename RunT>
void for_each_limb(const ParamsT& params, const RunT& run) {
  for (std::uint32_t limb = 0; limb < params.groups.limbs; ++limb) {
    for (std::uint32_t poly = 0; poly < params.groups.items[params.groups.find(limb)].polys; ++poly)
      run(find_limb<inverse, 0, TableT>(params, params.groups.find(limb), limb, poly), poly);
  }
}

template <unsigned e, unsigned k, bool inverse, unsigned sources, typename WordT,
          template <typename, bool> typename TableT, typename ParamsT>
void run_columns(ParamsT& params, const ntt_choice& choice) {
  params.bits = params.log_n - row_stages;
  params.log_columns = choice.log_columns;
  const unsigned threads = 1U << (params.bits - e + choice.log_columns);
  std::vector<WordT> shared(((1U << params.bits) + (1U << (params.bits - e))) << choice.log_columns);
  for_each_limb<inverse, TableT>(params, [&](auto place, std::uint32_t poly) {
    if (inverse) place.src = place.dst;
    const first_words<sources, WordT, ParamsT> first(params, place, poly);
    for (std::uint32_t b = 0; b < 1U << (row_stages - choice.log_columns); ++b) {
      block<WordT, e, k, TableT<WordT, false>> on;
      for (unsigned t = 0; t < threads; ++t)
        on.threads.push_back(column_thread<e, k>(params, place, b, t, shared.data()));
      on.x.resize(threads);
      const unsigned rounds = on.threads[0].rounds();
      on.step([&](const auto& each, auto& x) { inverse ? each.load(rounds - 1, x) : first.load(each, x); });
      run_rounds<inverse, true>(on);
      on.step([&](const auto& each, auto& x) { each.store(inverse ? 0 : rounds - 1, x); });
    }
  });
}

/// Steps of one block of the rows kernel.
template <bool inverse, bool last, typename BlockT, typename FirstT, typename StoreT>
void run_row_block(BlockT& on, const FirstT& first, const StoreT& store) {
  if (inverse) {
    on.step([](const auto& each, auto&) { each.load_chunks(); });
    on.step([](const auto& each, auto& x) { each.get_neighbours(x); });
  } else {
    on.step([&](const auto& each, auto& x) { first.load(each, x); });
  }
  run_rounds<inverse, last>(on);
  if (inverse) {
    on.step([](const auto& each, auto& x) { each.store(0, x); });
    return;
  }
  on.step([](const auto& each, auto& x) { each.put_neighbours(x); });
  on.step([&](const auto& each, auto&) { store(each); });
}

template <unsigned e, unsigned k, bool inverse, unsigned sources, typename WordT,
          template <typename, bool> typename TableT, typename ParamsT>
void run_rows(ParamsT& params, const ntt_choice& choice) {
  const bool alone = params.log_n <= one_kernel_log_n;
  params.bits = alone ? params.log_n : row_stages;
  const unsigned team = 1U << (params.bits - e);
  const unsigned rows = alone ? 1U : std::max(1U, choice.row_threads / team);
  std::vector<chunk<WordT>> shared(rows * exchange_words(params.bits, e) / chunk<WordT>::words);
  for_each_limb<inverse, TableT>(params, [&](auto place, std::uint32_t poly) {
    if (!inverse && !alone) place.src = place.dst;
    const first_words<k == 0 ? sources : 0, WordT, ParamsT> words(params, place, poly);
    for (std::uint32_t first = 0; first < 1U << (params.log_n - params.bits); first += rows) {
      block<WordT, e, k, TableT<WordT, false>> on;
      for (unsigned t = 0; t < team * rows; ++t)
        on.threads.push_back(row_thread<e, k>(params, place, first, t, shared[0].word));
      on.x.resize(on.threads.size());
      run_row_block<inverse, k == 0>(on, words,
                                     [&](const auto& each) { store_results(params, place, poly, each); });
    }
  });
}

template <unsigned e, bool inverse, unsigned sources, template <typename, bool> typename TableT,
          typename WordT, typename GroupT>
void transform_words(const ntt_params<WordT, GroupT>&, auto& params, ntt_choice choice) {
  choice = fitted(choice, e, params.log_n);
  const auto columns = [&] {
    params.log_n == 16 ? run_columns<e, 8, inverse, sources, WordT, TableT>(params, choice)
                       : run_columns<e, 0, inverse, sources, WordT, TableT>(params, choice);
  };
  if (params.log_n <= one_kernel_log_n) {
    return run_rows<e, 0, inverse, sources, WordT, TableT>(params, choice);
  }
  if (!inverse) columns();
  run_rows<e, row_stages, inverse, sources, WordT, TableT>(params, choice);
  if (inverse) columns();
}

template <unsigned e, bool inverse, unsigned sources = 0,
          template <typename, bool> typename TableT = twiddle_table, typename ParamsT>
void transform(ParamsT& params, const ntt_choice& choice) {
  transform_words<e, inverse, sources, TableT>(params, params, choice);
}

}  // namespace halocline::test
