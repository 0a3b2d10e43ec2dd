// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "backend/cuda/retrieval/retrieval_plan.hpp"
#include "backend/cuda/retrieval/row_select_params.hpp"

namespace halocline::backend::cuda {

/// Parameter blocks of one job, up to `row_queries` queries each, for `emit(params)`. Queries are divided
/// evenly: 65 are 33 and 32.
template <typename EmitT>
void plan_row_select(const retrieval_resolver& at, const row_select_job& job, const EmitT& emit) {
  row_select_params params;
  params.moduli = at.moduli();
  params.database = at.raw<std::uint32_t>(*job.database.data);
  params.log_n = at.log_n();
  params.limbs = static_cast<std::uint32_t>(at.ring().primes.size());
  params.rows = job.rows;
  params.columns = job.columns;
  const std::size_t parts = (job.queries.size() + row_queries - 1) / row_queries;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = job.queries.size() * part / parts,
                      last = job.queries.size() * (part + 1) / parts;
    params.queries = 0;
    for (const row_query& query : std::span(job.queries).subspan(first, last - first)) {
      params.items[params.queries++] = {at.raw<std::uint32_t>(*query.selectors.data),
                                        words_of(at, query.dst)};
    }
    // A block forms addresses of up to most_row_queries - 1 queries behind the last one, and copies zeros for
    // them.
    std::fill_n(params.items + params.queries, most_row_queries, params.items[0]);
    emit(params);
  }
}

}  // namespace halocline::backend::cuda
