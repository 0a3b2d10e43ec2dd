// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/retrieval/retrieval_params.hpp"
#include "halocline/backend/retrieval_jobs.hpp"
#include "halocline/core/expects.hpp"

/// What the plans of private retrieval share: arrays as pointers, and parameter blocks that are filled.
namespace halocline::backend::cuda {

using retrieval_resolver = resolver<std::uint32_t>;

/// An array as pointers; no data for a descriptor without.
[[nodiscard]] inline words_of_array words_of(const retrieval_resolver& at, const poly_array& array) {
  if (array.data == nullptr) return {};
  return {at.limb({array.data, array.first, {0, 1}, 0}), std::uint64_t{array.stride} << at.log_n()};
}

/// Collects jobs into parameter blocks and emits each block that is full.
template <typename ParamsT, typename EmitT>
class retrieval_packer {
 public:
  retrieval_packer(const retrieval_resolver& at, const EmitT& emit) : emit_(emit) {
    empty_.moduli = at.moduli();
    empty_.log_n = at.log_n();
    empty_.limbs = static_cast<std::uint32_t>(at.ring().primes.size());
  }

  /// What every block of parameters has. Set it before the first job.
  [[nodiscard]] ParamsT& common() noexcept { return empty_; }
  void add(const typename ParamsT::job& item, std::uint64_t units) {
    if (next_.jobs == retrieval_jobs) flush();
    begin();
    append(item, units);
  }
  /// A job with `factors[limbs]`; sets `item.factors`.
  void add(typename ParamsT::job item, std::uint64_t units, std::span<const array_factor> factors) {
    const auto same = [](const array_factor& a, const array_factor& b) {
      return a.value == b.value && a.offset == b.offset;
    };
    HALOCLINE_EXPECTS(factors.size() <= ParamsT::capacity, invalid_argument, "a ring of ", factors.size(),
                      " primes; kernels of private retrieval take at most ", ParamsT::capacity);
    const std::size_t count = factors.size();
    bool known = next_.jobs != 0 && std::equal(factors.begin(), factors.end(), next_.factors + last_, same);
    if (next_.jobs == retrieval_jobs || (!known && used_ + count > ParamsT::capacity)) {
      flush();
      known = false;
    }
    begin();
    if (!known) {
      last_ = used_;
      std::copy(factors.begin(), factors.end(), next_.factors + last_);
      used_ += count;
    }
    item.factors = static_cast<std::uint32_t>(last_);
    append(item, units);
  }
  void flush() {
    if (next_.jobs != 0) emit_(next_, units_);
    next_.jobs = 0;
    units_ = 0;
    used_ = last_ = 0;
  }

 private:
  void begin() {
    if (next_.jobs == 0) next_ = empty_;
  }
  void append(const typename ParamsT::job& item, std::uint64_t units) {
    next_.items[next_.jobs++] = item;
    units_ = std::max(units_, units);
  }

  ParamsT empty_;
  ParamsT next_;
  const EmitT& emit_;
  std::uint64_t units_ = 0;
  std::size_t used_ = 0;  ///< factors in the block
  std::size_t last_ = 0;  ///< where those of the last job begin
};

}  // namespace halocline::backend::cuda
