// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/executor.hpp"
#include "backend/cuda/retrieval/row_select_choice.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

namespace halocline::backend::cuda {

/// Computes sums over rows with matrix instructions.
/// @param kernel which one; not `integer`
/// @param job of at most `row_mma_rows` rows
void row_select_mma(const executor<std::uint32_t>& on, row_select_kernel kernel, const row_select_job& job);

}  // namespace halocline::backend::cuda
