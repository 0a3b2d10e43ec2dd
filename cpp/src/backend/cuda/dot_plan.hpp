// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/dot.cuh"
#include "backend/cuda/elementwise_plan.hpp"

/// From batches of sums of products to parameter blocks. Sums that follow each other and have most of their
/// factors a in common are made together.
namespace halocline::backend::cuda {

/// Sums over the same primes, and the factors a that any of them has.
struct dot_set {
  std::vector<const dot_job*> jobs;
  std::vector<const limb_view*> factors;

  [[nodiscard]] static bool same(const limb_view& a, const limb_view& b) {
    return a.data == b.data && a.limb == b.limb && a.primes == b.primes;
  }
  /// Position of a factor, `factors.size()` for a new one.
  [[nodiscard]] std::size_t find(const limb_view& factor) const {
    std::size_t at = 0;
    while (at < factors.size() && !same(*factors[at], factor)) ++at;
    return at;
  }
  /// Whether no factor a stands twice in a sum.
  [[nodiscard]] static bool distinct(const dot_job& job) {
    for (std::size_t i = 0; i < job.a.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (same(job.a[k], job.a[i])) return false;
      }
    }
    return true;
  }
  /// Whether a sum may join: half of its factors are there.
  [[nodiscard]] bool takes(const dot_job& job) const {
    if (jobs.empty()) return true;
    if (jobs.size() == dot_outputs || job.dst.primes != jobs.front()->dst.primes) return false;
    if (job.a.size() > dot_terms / 4 || jobs.front()->a.size() > dot_terms / 4) return false;
    if (!distinct(job) || !distinct(*jobs.front())) return false;
    std::size_t known = 0;
    for (const limb_view& each : job.a) known += find(each) < factors.size() ? 1 : 0;
    return 2 * known >= job.a.size();
  }
  void add(const dot_job& job) {
    jobs.push_back(&job);
    for (const limb_view& each : job.a) {
      if (jobs.size() == 1 || find(each) == factors.size()) factors.push_back(&each);
    }
  }
};

/// Adds a part of a set to parameters with room for it: the terms [first, first + count).
template <typename WordT, typename PackerT>
void add_dot(const resolver<WordT>& resolve, PackerT& packer, const dot_set& set, std::size_t first,
             std::uint32_t count) {
  dot_params<WordT>& p = packer.params();
  const dot_job& lead = *set.jobs.front();
  typename dot_params<WordT>::job made{{}, lead.dst.primes.first, p.terms, count, 0, 0};
  for (const dot_job* each : set.jobs) {
    if (each->accumulate || first != 0) made.accumulate |= 1U << made.outputs;
    made.dst[made.outputs++] = resolve.limb(each->dst);
  }
  p.most_outputs = std::max(p.most_outputs, made.outputs);
  packer.add(made, lead.dst.primes.count);
  for (std::uint32_t t = 0; t < count; ++t) p.a[p.terms + t] = resolve.limb(*set.factors[first + t]);
  for (std::size_t o = 0; o < set.jobs.size(); ++o) {
    const dot_job& each = *set.jobs[o];
    for (std::size_t i = 0; i < each.b.size(); ++i) {
      // Alone, a sum may have a factor twice: its terms are in order.
      const std::size_t at = set.jobs.size() == 1 ? i : set.find(each.a[i]);
      if (at < first || at >= first + count) continue;
      p.b[p.terms + at - first][o] = resolve.limb(each.b[i]);
      p.repeats[p.terms + at - first][o] = static_cast<std::uint8_t>(each.b[i].log_repeat);
    }
  }
  p.terms += count;
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
  for (std::size_t next = 0; next < jobs.size();) {
    dot_set set;
    while (next < jobs.size() && set.takes(jobs[next])) set.add(jobs[next++]);
    for (std::size_t done = 0; done < set.factors.size();) {
      const auto terms =
          static_cast<std::uint32_t>(std::min<std::size_t>(dot_terms, set.factors.size() - done));
      // Parts of one sum must be in separate launches, because each adds to what the one before wrote.
      if (done != 0 || packer.params().terms + terms > dot_terms || packer.params().jobs.jobs == dot_jobs)
        packer.flush();
      add_dot(resolve, packer, set, done, terms);
      done += terms;
    }
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
