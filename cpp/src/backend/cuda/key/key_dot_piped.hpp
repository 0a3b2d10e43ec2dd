// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/executor.hpp"
#include "halocline/backend/key_jobs.hpp"

/// Weighted sums of key products by way of shared memory.
namespace halocline::backend::cuda {

/// Whether the card can, with limbs of a tile or more (compute capability 9.0 or later with enough shared
/// memory), and gains from it: terms of one digit do not.
[[nodiscard]] bool pipes_key_dot(const executor<std::uint32_t>& on, std::span<const key_dot_job> jobs);

void piped_key_dot(const executor<std::uint32_t>& on, cache_hint keys, std::span<const key_dot_job> jobs);

}  // namespace halocline::backend::cuda
