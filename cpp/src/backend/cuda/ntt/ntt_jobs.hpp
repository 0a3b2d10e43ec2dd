// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/cuda/executor.hpp"

namespace halocline::backend::cuda {

/// What `ntt`, or with `inverse` `intt`, does with a batch, for other operations that transform limbs.
template <typename WordT>
void transform_limbs(const executor<WordT>& on, std::span<const unary_job> jobs, bool inverse);
/// The first phase of `ntt` alone, in rings of 2^16: words are below 4q, and rows of 2^8 words are left.
void transform_columns(const executor<std::uint32_t>& on, std::span<const unary_job> jobs);

}  // namespace halocline::backend::cuda
