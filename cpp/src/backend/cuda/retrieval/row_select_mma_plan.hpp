// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/retrieval/row_select_mma_params.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

namespace halocline::backend::cuda {

/// Calls `emit(params)` for each launch of a job with blocks of the shape `ShapeT`.
template <typename ShapeT, typename EmitT>
void plan_row_mma(const resolver<std::uint32_t>& resolve, const row_select_job& job, const EmitT& emit) {
  row_mma_params p;
  p.database = resolve.template raw<std::uint32_t>(*job.database.data);
  p.moduli = resolve.moduli();
  p.rows = job.rows;
  p.columns = job.columns;
  p.log_n = resolve.log_n();
  p.limbs = static_cast<std::uint32_t>(resolve.ring().primes.size());
  p.column_tiles = (job.columns + ShapeT::columns - 1) / ShapeT::columns;
  for (std::size_t first = 0; first < job.queries.size(); first += row_mma_queries) {
    p.queries =
        static_cast<std::uint32_t>(std::min<std::size_t>(job.queries.size() - first, row_mma_queries));
    p.selector_tiles = (2 * p.queries + ShapeT::selectors - 1) / ShapeT::selectors;
    for (std::uint32_t i = 0; i < p.queries; ++i) {
      const row_query& each = job.queries[first + i];
      p.query[i] = {resolve.template raw<std::uint32_t>(*each.selectors.data),
                    resolve.limb({each.dst.data, each.dst.first, {0, 1}, 0}), each.dst.stride};
    }
    emit(p);
  }
}

}  // namespace halocline::backend::cuda
