// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "backend/cuda/ntt/ntt_tuning.hpp"

/// Forms of the transforms of 64-bit words that benchmarks compare.
namespace halocline::bench {

struct named_form {
  std::string_view name;
  backend::cuda::ntt_choice choice;
};

/// `p4`, `p2`: polynomials that share twiddles. `exact p2` is the shape of cards that have not been measured.
inline constexpr named_form named_forms[] = {
    {"exact near p4", {3, 64, 4, true, 0, backend::cuda::ntt_form::exact}},
    {"exact p2", {3, 128, 2, false, 0, backend::cuda::ntt_form::exact}},
    {"lean near p4", {3, 64, 4, true, 0, backend::cuda::ntt_form::lean}},
    {"wide near p4", {3, 64, 4, true, 0, backend::cuda::ntt_form::wide}},
};

}  // namespace halocline::bench
