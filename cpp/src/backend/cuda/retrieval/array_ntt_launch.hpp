// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/cuda/executor.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

namespace halocline::backend::cuda {

/// `array_ntt`, or with `inverse` `array_intt`: one launch for 64 jobs in rings of 2^10 to 2^13; in others
/// polynomials are transformed as by `ntt`.
void run_array_ntt(const executor<std::uint32_t>& on, std::span<const array_job> jobs, bool inverse);

}  // namespace halocline::backend::cuda
