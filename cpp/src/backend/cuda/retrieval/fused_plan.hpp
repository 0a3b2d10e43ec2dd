// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/retrieval/fused_params.hpp"

namespace halocline::backend::cuda {

/// Address and distances of an array.
[[nodiscard]] inline fused_array fused_array_of(const resolver<std::uint32_t>& resolve,
                                                const poly_array& array) {
  return {resolve.limb({array.data, array.first, {0, 1}, 0}), array.stride * resolve.n()};
}

[[nodiscard]] inline std::uint32_t fused_nodes(const expand_job& job) {
  return job.children / 2 + job.children % 2;
}
[[nodiscard]] inline std::uint32_t fused_nodes(const select_job& job) { return job.count; }
[[nodiscard]] inline std::uint32_t fused_nodes(const select_tree_job& job) { return job.kept; }

[[nodiscard]] inline fused_job fused_job_of(const resolver<std::uint32_t>& resolve, const expand_job& job) {
  fused_job made;
  if (job.turned < job.children) made.dst = fused_array_of(resolve, job.dst);
  made.src = fused_array_of(resolve, job.src);
  made.rows = fused_array_of(resolve, job.rows);
  if (job.turned > 0) {
    made.points = const_cast<std::uint32_t*>(resolve.template raw<std::uint32_t>(*job.points.data));
    made.point_rows = job.points.rows;
    made.point_block = job.points.block;
    made.turned = job.turned;
  }
  made.monomial = fused_array_of(resolve, job.monomial).data;
  made.permutation = resolve.template raw<std::uint32_t>(*job.permutation);
  made.children = job.children;
  return made;
}
[[nodiscard]] inline fused_job fused_job_of(const resolver<std::uint32_t>& resolve, const select_job& job) {
  fused_job made;
  made.dst = fused_array_of(resolve, job.dst);
  made.src = fused_array_of(resolve, job.x);
  made.other = fused_array_of(resolve, job.y);
  made.rows = fused_array_of(resolve, job.rows);
  return made;
}

[[nodiscard]] inline fused_job fused_job_of(const resolver<std::uint32_t>& resolve,
                                            const select_tree_job& job) {
  fused_job made;
  made.src = fused_array_of(resolve, job.data);
  made.rows = fused_array_of(resolve, job.rows);
  made.columns = job.columns;
  made.kept = job.kept;
  made.bits = job.bits;
  return made;
}

/// Calls `emit(params)` for each launch; `targets` is for the launch to choose. Jobs that split differently
/// are in different launches. The nodes of a job, which use the same rows, follow each other.
template <typename JobT, typename EmitT>
void plan_fused(const resolver<std::uint32_t>& resolve, std::span<const JobT> jobs, const EmitT& emit) {
  fused_params p;
  p.moduli = resolve.moduli();
  p.roots = resolve.roots();
  p.log_n = resolve.log_n();
  p.limbs = p.targets = static_cast<std::uint32_t>(resolve.ring().primes.size());
  const auto flush = [&] {
    if (p.jobs != 0) emit(p);
    p.jobs = p.nodes = 0;
  };
  digit_split split = jobs.front().split;
  for (const JobT& each : jobs) {
    const bool same = split.digits == each.split.digits && split.base_bits == each.split.base_bits;
    if (p.jobs == fused_jobs || !same) flush();
    split = each.split;
    p.digits = split.digits;
    for (unsigned k = 0; k < split.digits; ++k) p.digit[k] = fused_digit_of(split, k);
    p.job[p.jobs] = fused_job_of(resolve, each);
    p.job[p.jobs++].begin = p.nodes;
    p.nodes += fused_nodes(each);
  }
  flush();
}

}  // namespace halocline::backend::cuda
