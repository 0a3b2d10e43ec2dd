// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/cuda/executor.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

namespace halocline::backend::cuda {

/// `row_select` with 32-bit multiply-adds: one launch for each job and 64 queries.
void run_row_select(const executor<std::uint32_t>& on, std::span<const row_select_job> jobs);

}  // namespace halocline::backend::cuda
