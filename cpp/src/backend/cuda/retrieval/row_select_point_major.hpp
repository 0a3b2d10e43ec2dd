// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/executor.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// `row_select` for matrices that are point-major.
namespace halocline::backend::cuda {

/// With the matrix instructions of warpgroups. @param job for which `warpgroups_select` holds
void row_select_warpgroup(const executor<std::uint32_t>& on, const row_select_job& job);

/// With 32-bit multiply-adds: a warp has a column at a point, and a thread every 32nd of its rows. For any
/// job.
void row_select_dots(const executor<std::uint32_t>& on, const row_select_job& job);

}  // namespace halocline::backend::cuda
