// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backend/conversion_targets.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/ntt/ntt_batch.hpp"
#include "backend/cuda/ntt/ntt_forms.hpp"
#include "backend/cuda/ntt/ntt_groups.hpp"
#include "backend/cuda/ntt/ntt_jobs.hpp"
#include "backend/cuda/ntt/ntt_launch.hpp"

namespace halocline::backend::cuda {
namespace {

/// Groups the jobs of a batch and calls `launch(choice, params)` whenever a parameter block is full.
template <typename WordT, typename LaunchT>
void transform(const launcher& on, const resolver<WordT>& resolve, std::span<const unary_job> jobs,
               const LaunchT& launch) {
  const std::vector<window> windows = windows_of(jobs);
  const ntt_choice choice = choice_of(on, 8 * sizeof(WordT), resolve, limbs_of(windows));
  plain_ntt_params<WordT> params;
  begin(params, resolve);
  for_each_prime_group(windows, choice.polys, [&](window primes, std::span<const std::uint32_t> members) {
    ntt_group<WordT> group;
    group.prime = primes.first;
    for (const std::uint32_t member : members) {
      group.src[group.polys] = resolve.limb(jobs[member].src.slice(primes));
      group.dst[group.polys++] = resolve.limb(jobs[member].dst.slice(primes));
    }
    if (params.groups.add(group, primes.count)) return;
    launch(choice, params);
    begin(params, resolve);
    params.groups.add(group, primes.count);
  });
  if (params.groups.jobs != 0) launch(choice, params);
}

template <typename WordT>
void ntt(const executor<WordT>& on, std::span<const unary_job> jobs) {
  transform<WordT>(on.launch, on.resolve, jobs,
                   [&](const ntt_choice& choice, plain_ntt_params<WordT>& params) {
                     launch_ntt(on.launch, choice, params);
                   });
}

template <typename WordT>
void intt(const executor<WordT>& on, std::span<const unary_job> jobs) {
  transform<WordT>(on.launch, on.resolve, jobs,
                   [&](const ntt_choice& choice, plain_ntt_params<WordT>& params) {
                     launch_intt(on.launch, choice, params);
                   });
}

/// Collects the groups of jobs of `ntt_linear_combine` with one conversion, or without one.
template <typename WordT>
class combine_batch {
 public:
  combine_batch(const launcher& on, const resolver<WordT>& resolve, std::vector<const linear_job*> jobs)
      : on_(on),
        resolve_(resolve),
        jobs_(std::move(jobs)),
        conversion_(jobs_.front()->conversion),
        params_(std::make_unique<combine_params<WordT>>()) {
    begin(*params_, resolve_);
    if (conversion_ == nullptr) return;
    params_->sources = static_cast<std::uint32_t>(conversion_->sources.size());
    std::copy(conversion_->sources.begin(), conversion_->sources.end(), params_->source_primes);
    params_->table = resolve_.template raw<WordT>(conversion_->data);
  }

  void run() {
    const std::vector<window> windows = windows_of(jobs_);
    choice_ = choice_of(on_, 8 * sizeof(WordT), resolve_, limbs_of(windows));
    for_each_prime_group(windows, choice_.polys, [&](window primes, std::span<const std::uint32_t> members) {
      // A group must find room for its factors; one group always does in an empty block of this many limbs.
      const std::uint32_t most = combine_params<WordT>::max_factors / max_ntt_polys;
      for (std::uint32_t first = primes.first; first < primes.end(); first += most)
        add({first, std::min(most, primes.end() - first)}, members);
    });
    flush();
  }

 private:
  void add(window primes, std::span<const std::uint32_t> members) {
    const std::size_t factors = members.size() * primes.count;
    if (params_->groups.jobs == combine_group<WordT>::capacity ||
        used_ + factors > combine_params<WordT>::max_factors)
      flush();
    combine_group<WordT> group;
    group.prime = primes.first;
    if (conversion_ != nullptr) group.target = first_target(*conversion_, primes);
    for (const std::uint32_t member : members) {
      const linear_job& job = *jobs_[member];
      group.dst[group.polys] = resolve_.limb(job.dst.slice(primes));
      group.src[group.polys] =
          conversion_ != nullptr ? group.dst[group.polys] : resolve_.limb(job.b.slice(primes));
      add_sources(job, group.from[group.polys]);
      group.a[group.polys] = resolve_.limb(job.a.slice(primes));
      group.factors[group.polys++] = used_;
      for (std::uint32_t i = 0; i < primes.count; ++i)
        params_->factors[used_++] = factors_of(job, primes.first + i);
    }
    params_->groups.add(group, primes.count);
  }
  void add_sources(const linear_job& job, const WordT** from) const {
    if (conversion_ == nullptr) return;
    for (const limb_view& view : job.from) {
      for (std::uint32_t s = 0; s < view.primes.count; ++s) *from++ = resolve_.limb(view, s);
    }
  }
  [[nodiscard]] combine_factors<WordT> factors_of(const linear_job& job, std::uint32_t prime) const {
    const std::uint32_t limb = prime - job.dst.primes.first;
    return make_factors<WordT>(resolve_.ring().primes[prime], job.factor_a[limb], job.factor_b[limb]);
  }
  void flush() {
    if (params_->groups.jobs != 0) launch_ntt_combine(on_, choice_, *params_);
    begin(*params_, resolve_);
    used_ = 0;
  }

  const launcher& on_;
  const resolver<WordT>& resolve_;
  std::vector<const linear_job*> jobs_;
  const conversion_table* conversion_;
  std::unique_ptr<combine_params<WordT>> params_;
  ntt_choice choice_{};
  std::uint32_t used_ = 0;
};

template <typename WordT>
void ntt_linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs) {
  std::vector<const conversion_table*> conversions;
  for (const linear_job& job : jobs) {
    if (std::find(conversions.begin(), conversions.end(), job.conversion) == conversions.end())
      conversions.push_back(job.conversion);
  }
  for (const conversion_table* conversion : conversions) {
    std::vector<const linear_job*> members;
    for (const linear_job& job : jobs) {
      if (job.conversion == conversion) members.push_back(&job);
    }
    combine_batch<WordT>(on.launch, on.resolve, std::move(members)).run();
  }
}

}  // namespace

template <typename WordT>
void transform_limbs(const executor<WordT>& on, std::span<const unary_job> jobs, bool inverse) {
  inverse ? intt(on, jobs) : ntt(on, jobs);
}
template void transform_limbs(const executor<std::uint32_t>&, std::span<const unary_job>, bool);
template void transform_limbs(const executor<std::uint64_t>&, std::span<const unary_job>, bool);

void transform_columns(const executor<std::uint32_t>& on, std::span<const unary_job> jobs) {
  transform<std::uint32_t>(on.launch, on.resolve, jobs,
                           [&](const ntt_choice&, plain_ntt_params<std::uint32_t>& params) {
                             launch_ntt_columns(on.launch, params);
                           });
}

template <typename WordT>
op_table<executor<WordT>> ntt_operations() {
  return op_table<executor<WordT>>{
      row<ntt<WordT>>(ops::ntt),
      row<intt<WordT>>(ops::intt),
      row<ntt_linear_combine<WordT>>(ops::ntt_linear_combine),
      reduced_operations<WordT>(),
  };
}

template op_table<executor<std::uint32_t>> ntt_operations();
template op_table<executor<std::uint64_t>> ntt_operations();

}  // namespace halocline::backend::cuda
