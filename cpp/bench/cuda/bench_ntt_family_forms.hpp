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

/// The first one is what the tuning table has for batches of 100 limbs; `p1`, `p2`: polynomials that share
/// twiddles.
inline constexpr named_form named_forms[] = {
    {"phases near p4", {3, 64, 4, true, 0, backend::cuda::ntt_form::phases}},
    {"phases p2", {3, 64, 2, false, 0, backend::cuda::ntt_form::phases}},
    {"phases p1", {3, 128, 1, false, 0, backend::cuda::ntt_form::phases}},
    {"fixed p2", {3, 64, 2, false, 0, backend::cuda::ntt_form::fixed}},
    {"lean near p4", {3, 64, 4, true, 0, backend::cuda::ntt_form::lean}},
    {"lean p2", {3, 64, 2, false, 0, backend::cuda::ntt_form::lean}},
    {"lean p1", {3, 128, 1, false, 0, backend::cuda::ntt_form::lean}},
    {"wide near p4", {4, 64, 4, true, 0, backend::cuda::ntt_form::wide}},
    {"wide p2", {4, 64, 2, false, 0, backend::cuda::ntt_form::wide}},
    {"cluster", {4, 64, 4, false, 0, backend::cuda::ntt_form::cluster}},
    {"cluster lean", {4, 64, 4, false, 0, backend::cuda::ntt_form::cluster_lean}},
    {"cluster roomy", {4, 64, 4, false, 0, backend::cuda::ntt_form::cluster_roomy}},
    {"cluster half", {4, 64, 4, false, 0, backend::cuda::ntt_form::cluster_half}},
};

}  // namespace halocline::bench
