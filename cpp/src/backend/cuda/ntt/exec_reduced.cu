// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/cuda/executor.hpp"
#include "backend/cuda/ntt/ntt_batch.hpp"
#include "backend/cuda/ntt/ntt_forms.hpp"
#include "backend/cuda/ntt/ntt_groups.hpp"
#include "backend/cuda/ntt/ntt_launch.hpp"

namespace halocline::backend::cuda {
namespace {

/// Collects the groups of jobs with, or without, a combination: `ParamsT` is combine_params or
/// reduced_params.
template <typename WordT, typename ParamsT>
class reduced_batch {
  using group_type = typename ParamsT::group_type;
  static constexpr bool combines = std::is_same_v<ParamsT, combine_params<WordT>>;

 public:
  reduced_batch(const executor<WordT>& on, std::vector<const reduce_job*> jobs)
      : on_(on), jobs_(std::move(jobs)), params_(std::make_unique<ParamsT>()) {
    begin(*params_, on_.resolve);
    if constexpr (combines) params_->sources = reduced_source;
  }

  void run() {
    const std::vector<window> windows = windows_of(jobs_);
    choice_ = choice_of(on_.launch, 8 * sizeof(WordT), on_.resolve, limbs_of(windows));
    for_each_prime_group(windows, choice_.polys, [&](window primes, std::span<const std::uint32_t> members) {
      std::uint32_t most = primes.count;  // one group always finds room for its factors in an empty block
      if constexpr (combines) most = ParamsT::max_factors / max_ntt_polys;
      for (std::uint32_t first = primes.first; first < primes.end(); first += most)
        add({first, std::min(most, primes.end() - first)}, members);
    });
    flush();
  }

 private:
  void add(window primes, std::span<const std::uint32_t> members) {
    const std::size_t factors = combines ? members.size() * primes.count : 0;
    if (params_->groups.jobs == group_type::capacity || !fits(factors)) flush();
    group_type group;
    group.prime = primes.first;
    for (const std::uint32_t member : members) {
      const reduce_job& job = *jobs_[member];
      const std::uint32_t poly = group.polys++;
      group.dst[poly] = on_.resolve.limb(job.dst.slice(primes));
      group.src[poly] = group.dst[poly];
      group.from[poly][0] = on_.resolve.limb(job.src);
      group.by[poly] = {job.src.primes.first, job.centred};
      if constexpr (combines) {
        group.a[poly] = on_.resolve.limb(job.a.slice(primes));
        group.factors[poly] = used_;
        for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
          const std::uint32_t limb = i - job.dst.primes.first;
          params_->factors[used_++] =
              make_factors<WordT>(on_.resolve.ring().primes[i], job.factor_a[limb], job.factor_b[limb]);
        }
      }
    }
    params_->groups.add(group, primes.count);
  }
  [[nodiscard]] bool fits(std::size_t factors) const {
    if constexpr (combines) return used_ + factors <= ParamsT::max_factors;
    return factors == 0;
  }
  void flush() {
    if (params_->groups.jobs != 0) {
      if constexpr (combines) {
        launch_ntt_combine(on_.launch, choice_, *params_);
      } else {
        launch_ntt_reduced(on_.launch, choice_, *params_);
      }
    }
    begin(*params_, on_.resolve);
    used_ = 0;
  }

  const executor<WordT>& on_;
  std::vector<const reduce_job*> jobs_;
  std::unique_ptr<ParamsT> params_;
  ntt_choice choice_{};
  std::uint32_t used_ = 0;
};

template <typename WordT>
void ntt_reduced(const executor<WordT>& on, std::span<const reduce_job> jobs) {
  std::vector<const reduce_job*> plain, combined;
  for (const reduce_job& job : jobs) (job.a.data != nullptr ? combined : plain).push_back(&job);
  if (!plain.empty()) reduced_batch<WordT, reduced_params<WordT>>(on, std::move(plain)).run();
  if (!combined.empty()) reduced_batch<WordT, combine_params<WordT>>(on, std::move(combined)).run();
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> reduced_operations() {
  return op_table<executor<WordT>>{row<ntt_reduced<WordT>>(ops::ntt_reduced)};
}

template op_table<executor<std::uint32_t>> reduced_operations();
template op_table<executor<std::uint64_t>> reduced_operations();

}  // namespace halocline::backend::cuda
