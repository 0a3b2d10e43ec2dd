// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/elementwise/dot_pairs.cuh"
#include "backend/cuda/elementwise/elementwise_plan.hpp"

/// From batches of sums of products to parameter blocks.
namespace halocline::backend::cuda {

/// Jobs of a batch that `pair_body` makes together: `rows` sums of first components that follow each other,
/// and then those of the second ones with the same factors b.
struct pair_set {
  std::size_t rows = 0;                                                ///< 0: the jobs are no such set
  std::vector<std::pair<const limb_view*, const limb_view*>> factors;  ///< of both components
};

[[nodiscard]] inline bool same_limbs(const limb_view& x, const limb_view& y) {
  return x.data == y.data && x.limb == y.limb && x.primes == y.primes && x.log_repeat == y.log_repeat;
}

/// Position of a factor of the first component among those of a set.
[[nodiscard]] inline std::size_t find_factor(const pair_set& set, const limb_view& first) {
  std::size_t at = 0;
  while (at < set.factors.size() && !same_limbs(*set.factors[at].first, first)) ++at;
  return at;
}

/// Adds one row's pairs of factors. False when they contradict those that are there, when the two jobs have
/// other factors b, or when a factor stands in the row twice.
[[nodiscard]] inline bool add_row(pair_set& set, const dot_job& first, const dot_job& second, bool repeated) {
  if (first.dst.primes != second.dst.primes || first.a.size() != second.a.size()) return false;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < first.a.size(); ++i) {
    if (!same_limbs(first.b[i], second.b[i]) || (first.b[i].log_repeat != 0) != repeated) return false;
    const std::size_t at = find_factor(set, first.a[i]);
    if (at == set.factors.size()) set.factors.push_back({&first.a[i], &second.a[i]});
    if (!same_limbs(*set.factors[at].second, second.a[i])) return false;
    if (std::find(seen.begin(), seen.end(), at) != seen.end()) return false;
    seen.push_back(at);
  }
  return true;
}

/// The largest set that the jobs begin with.
[[nodiscard]] inline pair_set find_pairs(std::span<const dot_job> jobs) {
  for (std::size_t rows = std::min<std::size_t>(pair_rows, jobs.size() / 2); rows != 0; --rows) {
    pair_set set;
    const bool repeated = jobs.front().b.front().log_repeat != 0;
    std::size_t terms = 0;
    bool fits = true;
    for (std::size_t r = 0; fits && r < rows; ++r) {
      fits = jobs[r].dst.primes == jobs.front().dst.primes && add_row(set, jobs[r], jobs[rows + r], repeated);
      terms += jobs[r].a.size();
    }
    // Half of what a set would read for all rows must be there.
    fits = fits && set.factors.size() <= pair_terms && 2 * terms >= rows * set.factors.size();
    set.rows = rows;
    if (fits) return set;
  }
  return {};
}

/// Adds a set to parameters with room for it.
template <typename WordT, typename PackerT>
void add_pairs(const resolver<WordT>& resolve, PackerT& packer, const pair_set& set,
               std::span<const dot_job> jobs) {
  pair_params<WordT>& p = packer.params();
  const auto terms = static_cast<std::uint32_t>(set.factors.size());
  const auto rows = static_cast<std::uint32_t>(set.rows);
  typename pair_params<WordT>::job made{{}, jobs.front().dst.primes.first,         p.terms, terms, rows,
                                        0,  jobs.front().b.front().log_repeat != 0};
  for (std::size_t r = 0; r < set.rows; ++r) {
    for (std::size_t c = 0; c < 2; ++c) {
      const dot_job& each = jobs[c * set.rows + r];
      made.dst[r][c] = resolve.limb(each.dst);
      if (each.accumulate) made.accumulate |= 1U << (2 * r + c);
    }
    const dot_job& row = jobs[r];
    for (std::size_t i = 0; i < row.a.size(); ++i) {
      const std::size_t term = p.terms + find_factor(set, row.a[i]);
      p.b[term][r] = resolve.limb(row.b[i]);
      p.repeats[term][r] = static_cast<std::uint8_t>(row.b[i].log_repeat);
    }
  }
  packer.add(made, jobs.front().dst.primes.count);
  for (const auto& factor : set.factors) {
    p.a[p.terms][0] = resolve.limb(*factor.first);
    p.a[p.terms][1] = resolve.limb(*factor.second);
    ++p.terms;
  }
}

/// Plans the sets among the jobs. Returns the jobs that are left for `plan_dot`.
template <typename WordT, typename EmitT>
[[nodiscard]] std::vector<dot_job> plan_pairs(const resolver<WordT>& resolve, std::span<const dot_job> jobs,
                                              const EmitT& emit) {
  pair_params<WordT> empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  job_packer<pair_params<WordT>, EmitT> packer(empty, emit);
  std::vector<dot_job> rest;
  while (!jobs.empty()) {
    const pair_set set = find_pairs(jobs);
    if (set.rows == 0) {
      rest.push_back(jobs.front());
      jobs = jobs.subspan(1);
      continue;
    }
    if (packer.params().terms + set.factors.size() > pair_terms || packer.params().jobs.jobs == pair_jobs)
      packer.flush();
    add_pairs(resolve, packer, set, jobs);
    jobs = jobs.subspan(2 * set.rows);
  }
  packer.flush();
  return rest;
}

/// Plans sums of products, cutting those with more terms than a block of parameters holds.
template <typename WordT, typename EmitT>
void plan_dot(const resolver<WordT>& resolve, map_hints hints, std::span<const dot_job> jobs,
              const EmitT& emit) {
  using params = dot_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.hints = hints;
  job_packer<params, EmitT> packer(empty, emit);
  for (const dot_job& each : jobs) {
    for (std::size_t done = 0; done < each.a.size();) {
      const auto terms = static_cast<std::uint32_t>(std::min<std::size_t>(dot_terms, each.a.size() - done));
      // Parts of one sum must be in separate launches, because each adds to what the one before wrote.
      if (done != 0 || packer.params().terms + terms > dot_terms || packer.params().jobs.jobs == dot_jobs)
        packer.flush();
      params& p = packer.params();
      packer.add(
          {resolve.limb(each.dst), each.dst.primes.first, p.terms, terms, each.accumulate || done != 0},
          each.dst.primes.count);
      for (std::uint32_t t = 0; t < terms; ++t, ++p.terms) {
        p.a[p.terms] = resolve.limb(each.a[done + t]);
        p.b[p.terms] = resolve.limb(each.b[done + t]);
        p.repeats[p.terms] = static_cast<std::uint8_t>(each.b[done + t].log_repeat);
      }
      done += terms;
    }
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
