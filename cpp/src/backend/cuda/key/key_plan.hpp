// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/cuda/elementwise/elementwise_plan.hpp"
#include "backend/cuda/key/key_seeded.cuh"

namespace halocline::backend::cuda {

/// Appends digit `index` of limbs [limb, ...) of a job.
template <typename WordT>
void add_digit(key_params<WordT>& p, const resolver<WordT>& resolve, const key_digit& digit,
               std::uint32_t limb, std::uint32_t prime) {
  const std::size_t offset = static_cast<std::size_t>(prime - digit.first_prime) * resolve.n();
  auto& item = p.digit_list[p.digits++];
  item.d = resolve.limb(digit.digit, limb);
  item.b = resolve.template raw<WordT>(*digit.key_b) + offset;
  item.a = digit.key_a != nullptr ? resolve.template raw<WordT>(*digit.key_a) + offset : nullptr;
  item.key = arith::make_chacha_key(digit.a_source.seed.data());
  item.stream = digit.a_source.stream;
  if (digit.key_a != nullptr) return;
  p.seeded = true;
  p.rule = digit.a_source.rule;
}

/// The part of a job that one launch computes.
struct key_part {
  std::uint32_t limb, limbs;
  std::size_t digit;
  std::uint32_t digits;
};

/// The rule of the seeded digits of the part of a job that begins with digit `digit`, if it has any, and how
/// many digits come before one of another rule.
struct key_run {
  std::optional<stream_rule> rule;
  std::size_t digits = 0;
};
[[nodiscard]] inline key_run find_run(const key_job& job, std::size_t digit) {
  key_run run;
  for (; digit < job.digits.size(); ++digit, ++run.digits) {
    const key_digit& each = job.digits[digit];
    if (each.key_a != nullptr) continue;
    if (run.rule.value_or(each.a_source.rule) != each.a_source.rule) break;
    run.rule = each.a_source.rule;
  }
  return run;
}

template <typename WordT, typename PackerT>
void add_part(PackerT& packer, const resolver<WordT>& resolve, const key_job& each, const key_part& part) {
  key_params<WordT>& p = packer.params();
  const std::uint32_t prime = each.dst0.primes.first + part.limb, begin = p.jobs.limbs;
  typename key_params<WordT>::job job{};
  job.dst[0] = resolve.limb(each.dst0, part.limb);
  job.dst[1] = resolve.limb(each.dst1, part.limb);
  job.first_prime = prime;
  job.first_digit = p.digits;
  job.digits = part.digits;
  job.accumulate = each.accumulate || part.digit != 0;
  if (each.permutation != nullptr) {
    job.permutation = resolve.template raw<std::uint32_t>(*each.permutation);
    p.turned = true;
  }
  if (part.digit == 0 && !each.factors.empty()) {
    if (each.plus0.data != nullptr) job.plus[0] = resolve.limb(each.plus0, part.limb);
    if (each.plus1.data != nullptr) job.plus[1] = resolve.limb(each.plus1, part.limb);
    for (std::uint32_t i = 0; i < part.limbs; ++i) {
      p.factor[begin + i] = static_cast<WordT>(each.factors[part.limb + i]);
    }
  }
  for (std::uint32_t d = 0; d < part.digits; ++d) {
    add_digit(p, resolve, each.digits[part.digit + d], part.limb, prime);
  }
  packer.add(job, part.limbs);
}

/// Plans key products. Jobs with more limbs or digits than a block of parameters holds are cut, and so are
/// those whose seeds are of different rules, of which a launch has one; parts of one sum are in separate
/// launches.
template <typename WordT, typename EmitT>
void plan_key(const resolver<WordT>& resolve, cache_hint keys, cache_hint data, std::span<const key_job> jobs,
              const EmitT& emit) {
  using params = key_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.log_words = resolve.log_n();
  empty.keys = keys;
  empty.data = data;
  job_packer<params, EmitT> packer(empty, emit);
  for (const key_job& each : jobs) {
    const std::uint32_t limbs = each.dst0.primes.count;
    for (std::uint32_t limb = 0; limb < limbs;) {
      std::uint32_t count = std::min(limbs - limb, key_factors);
      std::size_t digit = 0;
      do {
        const key_run run = find_run(each, digit);
        const auto digits = static_cast<std::uint32_t>(std::min<std::size_t>(run.digits, key_digits));
        const params& p = packer.params();
        if (digit != 0 || (p.seeded && run.rule.value_or(p.rule) != p.rule) || p.jobs.jobs == key_jobs ||
            p.digits + digits > key_digits || p.jobs.limbs + count > key_factors)
          packer.flush();
        add_part(packer, resolve, each, {limb, count, digit, digits});
        digit += digits;
      } while (digit < each.digits.size());
      limb += count;
    }
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
