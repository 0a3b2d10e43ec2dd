// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "halocline/backend/key_jobs.hpp"

namespace halocline::backend {

/// What is added to a further sum of a job: its own addends, or those of the job.
struct part_addends {
  const limb_view& plus0;
  const limb_view& plus1;
};
[[nodiscard]] inline part_addends addends_of(const key_job& job, const key_part& part) {
  const bool own = part.plus0.data != nullptr || part.plus1.data != nullptr;
  return {own ? part.plus0 : job.plus0, own ? part.plus1 : job.plus1};
}

/// Transforms of the digits that are in coefficient form, each in its place.
[[nodiscard]] inline std::vector<unary_job> transforms_of(std::span<const key_job> jobs) {
  std::vector<unary_job> transforms;
  const auto add = [&](const std::vector<key_digit>& digits) {
    for (const key_digit& each : digits) {
      if (each.coefficients) transforms.push_back({each.digit, each.digit});
    }
  };
  for (const key_job& job : jobs) {
    add(job.digits);
    for (const key_part& part : job.more) add(part.digits);
  }
  return transforms;
}

/// Whether any half of a key is expanded from a seed.
[[nodiscard]] inline bool any_seeded(std::span<const key_job> jobs) {
  const auto seeded = [](const std::vector<key_digit>& digits) {
    return std::any_of(digits.begin(), digits.end(),
                       [](const key_digit& each) { return each.key_a == nullptr; });
  };
  return std::any_of(jobs.begin(), jobs.end(), [&](const key_job& job) {
    return seeded(job.digits) || std::any_of(job.more.begin(), job.more.end(),
                                             [&](const key_part& part) { return seeded(part.digits); });
  });
}

/// Calls `run(jobs)` with jobs that are a single sum each: once, and again for the second sum of jobs with
/// several, for the third and so on, which add to what was made before. For devices that gain nothing from
/// doing all sums of a job at once.
template <typename RunT>
void for_each_key_part(std::span<const key_job> jobs, const RunT& run) {
  run(jobs);
  std::vector<key_job> round;
  for (std::size_t part = 0; part == 0 || !round.empty(); ++part) {
    round.clear();
    for (const key_job& each : jobs) {
      if (part >= each.more.size()) continue;
      const key_part& more = each.more[part];
      const auto [plus0, plus1] = addends_of(each, more);
      round.push_back(
          {each.dst0, each.dst1, more.digits, true, plus0, plus1, each.factors, more.permutation});
    }
    if (!round.empty()) run(std::span<const key_job>(round));
  }
}

}  // namespace halocline::backend
