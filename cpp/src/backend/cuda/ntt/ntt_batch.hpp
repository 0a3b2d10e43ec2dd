// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/ntt/ntt_params.hpp"
#include "halocline/backend/reduce_jobs.hpp"

/// What the batches of all transforms share.
namespace halocline::backend::cuda {

[[nodiscard]] inline const limb_view& dst_of(const unary_job& job) { return job.dst; }
[[nodiscard]] inline const limb_view& dst_of(const linear_job* job) { return job->dst; }
[[nodiscard]] inline const limb_view& dst_of(const reduce_job* job) { return job->dst; }

/// Primes of the results of each job.
template <typename JobsT>
[[nodiscard]] std::vector<window> windows_of(const JobsT& jobs) {
  std::vector<window> windows;
  windows.reserve(jobs.size());
  for (const auto& job : jobs) windows.push_back(dst_of(job).primes);
  return windows;
}

[[nodiscard]] inline std::size_t limbs_of(std::span<const window> windows) {
  std::size_t limbs = 0;
  for (const window& each : windows) limbs += each.count;
  return limbs;
}

/// Parameters of an empty launch.
template <typename ParamsT, typename WordT>
void begin(ParamsT& params, const resolver<WordT>& resolve) {
  params.moduli = resolve.moduli();
  params.roots = resolve.roots();
  params.log_n = resolve.log_n();
  params.groups.jobs = params.groups.limbs = 0;
}

/// Factors of one limb modulo q.
template <typename WordT>
[[nodiscard]] combine_factors<WordT> make_factors(std::uint64_t q, std::uint64_t a, std::uint64_t b) {
  using wide = arith::double_word<WordT>;
  constexpr unsigned bits = 8 * sizeof(WordT);
  const auto quotient = [q](std::uint64_t x) {
    return static_cast<WordT>((static_cast<wide>(x) << bits) / static_cast<wide>(q));
  };
  return {static_cast<WordT>(a), quotient(a), static_cast<WordT>(b), quotient(b)};
}

}  // namespace halocline::backend::cuda
