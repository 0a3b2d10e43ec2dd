// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/launcher.hpp"
#include "backend/cuda/ntt/ntt_params.hpp"
#include "backend/cuda/ntt/ntt_tuning.hpp"

/// Both phases of a transform of N = 2^16 in one kernel: the second phase of a limb begins when its first
/// phase is done, while what that wrote is still in the second-level cache.
namespace halocline::backend::cuda {

/// Whether the joined kernel runs a batch of 32-bit words with this choice.
template <typename ParamsT>
[[nodiscard]] bool joined_fits(const ntt_choice& choice, const ParamsT& params) {
  return choice.lead != 0 && params.log_n == 2 * row_stages &&
         params.groups.limbs <= device_context::counters;
}

/// Runs such a batch; the first phase converts that many `sources`.
template <bool inverse, unsigned sources, typename ParamsT>
void run_joined(const launcher& launch, const ntt_choice& choice, ParamsT& params);

}  // namespace halocline::backend::cuda
