// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/key/key_dot_params.cuh"
#include "halocline/backend/key_jobs.hpp"

/// How jobs of weighted sums of key products are cut into what one launch takes.
namespace halocline::backend::cuda {

/// The part of a job that one launch computes: some sums of some terms, on some limbs.
struct key_dot_part {
  const key_dot_job* job;
  std::size_t first_term, terms;
  std::size_t first_sum, sums;
  std::uint32_t first_limb, limbs;
};

[[nodiscard]] inline bool same_limbs(std::span<const limb_view> a, std::span<const limb_view> b) {
  return std::ranges::equal(a, b, [](const limb_view& x, const limb_view& y) {
    return x.data == y.data && x.limb == y.limb && x.primes == y.primes;
  });
}

/// What the terms of a launch have in common: the digits, and each addend that any of them has.
struct key_dot_source {
  std::vector<limb_view> digits;
  limb_view plus[2];

  /// Adds what a term needs. False when it needs something else.
  bool add(const key_term& term) {
    std::vector<limb_view> own;
    for (const key_digit& each : term.digits) own.push_back(each.digit);
    if (!own.empty() && !digits.empty() && !same_limbs(own, digits)) return false;
    const limb_view* const addends[] = {&term.plus0, &term.plus1};
    for (unsigned h = 0; h < 2; ++h) {
      if (addends[h]->data != nullptr && plus[h].data != nullptr &&
          !same_limbs({addends[h], 1}, {&plus[h], 1})) {
        return false;
      }
    }
    if (!own.empty()) digits = std::move(own);
    for (unsigned h = 0; h < 2; ++h) {
      if (addends[h]->data != nullptr) plus[h] = *addends[h];
    }
    return true;
  }
};

[[nodiscard]] inline key_dot_source source_of(const key_dot_part& part) {
  key_dot_source source;
  for (std::size_t t = 0; t < part.terms; ++t) source.add(part.job->terms[part.first_term + t]);
  return source;
}

/// Terms from `first` on that one launch takes for `sums` sums.
[[nodiscard]] inline std::size_t fitting_terms(const key_dot_job& job, std::size_t first, std::size_t sums) {
  key_dot_source source;
  std::size_t terms = 0, keys = 0;
  for (; first + terms < job.terms.size(); ++terms) {
    const key_term& next = job.terms[first + terms];
    keys += next.digits.size();
    if (terms != 0 && (terms == key_dot_terms || keys > key_dot_keys ||
                       (terms + 1) * sums > key_dot_weights || !source.add(next)))
      break;
    if (terms == 0) source.add(next);
  }
  return terms;
}

/// The parts of all jobs, of at most `most_sums` sums; those that write a sum before those that add to it.
[[nodiscard]] inline std::vector<key_dot_part> key_dot_parts(std::span<const key_dot_job> jobs,
                                                             std::size_t most_sums) {
  std::vector<std::vector<key_dot_part>> rounds;
  for (const key_dot_job& job : jobs) {
    const std::uint32_t limbs = job.sums.front().dst0.primes.count;
    for (std::size_t sum = 0; sum < job.sums.size(); sum += most_sums) {
      const std::size_t sums = std::min(most_sums, job.sums.size() - sum);
      std::size_t round = 0, term = 0;
      do {
        const std::size_t terms = fitting_terms(job, term, sums);
        if (rounds.size() == round) rounds.emplace_back();
        for (std::uint32_t limb = 0; limb < limbs; limb += key_dot_limbs) {
          rounds[round].push_back(
              {&job, term, terms, sum, sums, limb, std::min(key_dot_limbs, limbs - limb)});
        }
        term += terms;
        ++round;
      } while (term < job.terms.size());
    }
  }
  std::vector<key_dot_part> parts;
  for (const auto& round : rounds) parts.insert(parts.end(), round.begin(), round.end());
  return parts;
}

}  // namespace halocline::backend::cuda
