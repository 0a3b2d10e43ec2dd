// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ntt/ntt_forms.hpp"

namespace halocline::backend::cuda {
namespace {

const ntt_choice* overridden = nullptr;

}  // namespace

void override_ntt(const ntt_choice* choice) noexcept { overridden = choice; }
const ntt_choice* overridden_ntt() noexcept { return overridden; }

}  // namespace halocline::backend::cuda
