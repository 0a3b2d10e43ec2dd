// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/cuda/executor.hpp"

namespace halocline::backend::cuda {

/// What `ntt`, or with `inverse` `intt`, does with a batch, for other operations that transform limbs.
void transform_limbs(const executor<std::uint32_t>& on, std::span<const unary_job> jobs, bool inverse);

}  // namespace halocline::backend::cuda
