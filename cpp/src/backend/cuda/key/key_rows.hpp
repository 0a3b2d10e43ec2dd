// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/device/launcher.hpp"
#include "backend/cuda/key/key.cuh"

namespace halocline::backend::cuda {

/// Launches products of which some digits are half transformed (`key_params::rows`); see key_rows.cuh.
void launch_key_rows(const launcher& launch, const key_params<std::uint32_t>& params, std::uint32_t limbs);

}  // namespace halocline::backend::cuda
