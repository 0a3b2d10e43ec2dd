// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cuda/elementwise/elementwise_plan.hpp"
#include "backend/cuda/key/key_dot.cuh"
#include "backend/cuda/key/key_dot_parts.hpp"

/// From jobs of weighted sums of key products to parameter blocks.
namespace halocline::backend::cuda {

/// What a part needs of the block that jobs share.
template <typename WordT>
[[nodiscard]] typename key_dot_params<WordT>::shared shared_of(const resolver<WordT>& resolve,
                                                               const key_dot_part& part) {
  typename key_dot_params<WordT>::shared all;
  all.terms = static_cast<std::uint32_t>(part.terms);
  all.sums = static_cast<std::uint32_t>(part.sums);
  // From prime 0 on, where there may be nothing: offsets are only added again.
  const auto half = [&](const memory::buffer& data, std::uint32_t first_prime) {
    const auto at = reinterpret_cast<std::uintptr_t>(resolve.template raw<WordT>(data));
    return reinterpret_cast<const WordT*>(at - first_prime * resolve.n() * sizeof(WordT));
  };
  std::uint32_t keys = 0;
  for (std::size_t t = 0; t < part.terms; ++t) {
    const key_term& term = part.job->terms[part.first_term + t];
    all.term_list[t] = {
        term.permutation != nullptr ? resolve.template raw<std::uint32_t>(*term.permutation) : nullptr, keys,
        static_cast<std::uint32_t>(term.digits.size()),
        (term.plus0.data != nullptr ? 1U : 0U) | (term.plus1.data != nullptr ? 2U : 0U)};
    all.most_keys = std::max(all.most_keys, all.term_list[t].keys);
    for (const key_digit& digit : term.digits) {
      all.key_list[keys++] = {half(*digit.key_b, digit.first_prime), half(*digit.key_a, digit.first_prime)};
    }
  }
  for (std::size_t s = 0; s < part.sums; ++s) {
    const weighted_sum& sum = part.job->sums[part.first_sum + s];
    for (std::size_t i = 0; i < sum.numbers.size(); ++i) {
      if (sum.numbers[i] < part.first_term || sum.numbers[i] >= part.first_term + part.terms) continue;
      const std::size_t at = s * part.terms + sum.numbers[i] - part.first_term;
      all.weights[at] = resolve.template raw<WordT>(*sum.weights[i].data);
      all.repeats[at] = static_cast<std::uint8_t>(sum.weights[i].log_repeat);
    }
  }
  return all;
}

/// Whether two parts share what a launch has once. `addends`: also the terms that have some.
template <typename WordT>
[[nodiscard]] bool same_shared(const typename key_dot_params<WordT>::shared& a,
                               const typename key_dot_params<WordT>::shared& b, bool addends) {
  const auto same_terms = [&](const auto& x, const auto& y) {
    return x.permutation == y.permutation && x.first_key == y.first_key && x.keys == y.keys &&
           (!addends || x.plus == y.plus);
  };
  const auto same_keys = [](const auto& x, const auto& y) { return x.b == y.b && x.a == y.a; };
  return a.terms == b.terms && a.sums == b.sums && std::ranges::equal(a.term_list, b.term_list, same_terms) &&
         std::ranges::equal(a.key_list, b.key_list, same_keys) && std::ranges::equal(a.weights, b.weights) &&
         std::ranges::equal(a.repeats, b.repeats);
}

/// Whether some term has addends.
[[nodiscard]] inline bool has_addends(const key_dot_source& source) {
  return source.plus[0].data != nullptr || source.plus[1].data != nullptr;
}

template <typename WordT, typename PackerT>
void add_key_dot(PackerT& packer, const resolver<WordT>& resolve, const key_dot_part& part,
                 const typename key_dot_params<WordT>::shared& all, const key_dot_source& source) {
  key_dot_params<WordT>& p = packer.params();
  typename key_dot_params<WordT>::job job{};
  job.first_prime = part.job->sums.front().dst0.primes.first + part.first_limb;
  job.first_digit = p.digits;
  for (const limb_view& digit : source.digits) {
    p.digit_list[p.digits++] = resolve.limb(digit, part.first_limb);
  }
  for (unsigned h = 0; h < 2; ++h) {
    if (source.plus[h].data != nullptr) job.plus[h] = resolve.limb(source.plus[h], part.first_limb);
  }
  for (std::size_t s = 0; s < part.sums; ++s) {
    const weighted_sum& sum = part.job->sums[part.first_sum + s];
    job.dst[s][0] = resolve.limb(sum.dst0, part.first_limb);
    job.dst[s][1] = resolve.limb(sum.dst1, part.first_limb);
    if (sum.accumulate || part.first_term != 0) job.accumulate |= 1U << s;
    if (!sum.weights.empty()) job.weight_limb = sum.weights.front().limb + part.first_limb;
  }
  for (std::uint32_t i = 0; i < part.limbs && !part.job->factors.empty(); ++i) {
    const std::uint64_t q = resolve.ring().primes[job.first_prime + i];
    const auto factor = static_cast<double_word<WordT>>(part.job->factors[part.first_limb + i]);
    p.factor[p.jobs.limbs + i] = static_cast<WordT>((factor << (8 * sizeof(WordT))) % q);
  }
  if (p.jobs.jobs == 0 || has_addends(source)) p.all = all;
  packer.add(job, part.limbs);
}

/// `emit(params, limbs)` launches one block of parameters, of at most `most_sums` sums. Jobs with the same
/// keys and weights share one.
template <typename WordT, typename EmitT>
void plan_key_dot(const resolver<WordT>& resolve, cache_hint keys, cache_hint data, std::size_t most_sums,
                  std::span<const key_dot_job> jobs, const EmitT& emit) {
  using params = key_dot_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.log_words = resolve.log_n();
  empty.keys = keys;
  empty.data = data;
  job_packer<params, EmitT> packer(empty, emit);
  bool adds = false;  // whether a job of the launch has addends: then all that have some have the same
  for (const key_dot_part& part : key_dot_parts(jobs, most_sums)) {
    const typename params::shared all = shared_of(resolve, part);
    const key_dot_source source = source_of(part);
    const params& p = packer.params();
    if (p.jobs.jobs == key_dot_jobs || p.digits + source.digits.size() > key_dot_digits ||
        p.jobs.limbs + part.limbs > key_dot_limbs ||
        (p.jobs.jobs != 0 && !same_shared<WordT>(p.all, all, adds && has_addends(source)))) {
      packer.flush();
      adds = false;
    }
    add_key_dot(packer, resolve, part, all, source);
    adds = adds || has_addends(source);
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
