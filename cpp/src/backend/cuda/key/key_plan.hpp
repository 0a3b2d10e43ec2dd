// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/cuda/elementwise/elementwise_plan.hpp"
#include "backend/cuda/key/key_seeded.cuh"
#include "backend/key_parts.hpp"

namespace halocline::backend::cuda {

/// Appends a digit of limbs [limb, ...) of a job.
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
  item.rows = digit.coefficients && p.roots != nullptr;
  p.rows |= item.rows;
  if (digit.key_a != nullptr) return;
  p.seeded = true;
  p.rule = digit.a_source.rule;
}

/// What one launch computes of a sum: some limbs, some of its digits.
struct key_piece {
  std::uint32_t limb, limbs;
  std::size_t digit;
  std::uint32_t digits;
};

/// The rule of the seeded digits of a sum from digit `digit` on, if it has any, and how many digits come
/// before one of another rule.
struct key_run {
  std::optional<stream_rule> rule;
  std::size_t digits = 0;
};
[[nodiscard]] inline key_run find_run(std::span<const key_digit> all, std::size_t digit) {
  key_run run;
  for (; digit < all.size(); ++digit, ++run.digits) {
    const key_digit& each = all[digit];
    if (each.key_a != nullptr) continue;
    if (run.rule.value_or(each.a_source.rule) != each.a_source.rule) break;
    run.rule = each.a_source.rule;
  }
  return run;
}

/// One of the sums of a job.
struct key_sum {
  std::span<const key_digit> digits;
  const memory::buffer* permutation;
  bool accumulate;
  part_addends plus;
};

/// Adds a piece of a sum of the job to the launch: to the limbs of job `joined` of the launch, which are the
/// same, or with limbs of its own.
template <typename WordT, typename PackerT>
void add_piece(PackerT& packer, const resolver<WordT>& resolve, const key_job& each, const key_sum& sum,
               const key_piece& piece, std::optional<std::uint32_t> joined = {}) {
  key_params<WordT>& p = packer.params();
  const std::uint32_t prime = each.dst0.primes.first + piece.limb,
                      begin = joined ? p.jobs.begin[*joined] : p.jobs.limbs;
  typename key_params<WordT>::job job{};
  job.dst[0] = resolve.limb(each.dst0, piece.limb);
  job.dst[1] = resolve.limb(each.dst1, piece.limb);
  job.first_prime = prime;
  job.first_digit = p.digits;
  job.digits = piece.digits;
  job.parts = 1;
  job.accumulate = joined || sum.accumulate || piece.digit != 0;
  if (sum.permutation != nullptr) job.permutation = resolve.template raw<std::uint32_t>(*sum.permutation);
  p.summed |= joined.has_value();
  p.turned |= p.summed || sum.permutation != nullptr;
  if (piece.digit == 0 && !each.factors.empty()) {
    const auto [plus0, plus1] = sum.plus;
    if (plus0.data != nullptr) job.plus[0] = resolve.limb(plus0, piece.limb);
    if (plus1.data != nullptr) job.plus[1] = resolve.limb(plus1, piece.limb);
    for (std::uint32_t i = 0; i < piece.limbs; ++i) {
      p.factor[begin + i] = static_cast<WordT>(each.factors[piece.limb + i]);
    }
  }
  for (std::uint32_t d = 0; d < piece.digits; ++d) {
    add_digit(p, resolve, sum.digits[piece.digit + d], piece.limb, prime);
  }
  packer.add(job, joined ? 0 : piece.limbs);
  if (joined) ++p.jobs.items[*joined].parts;
}

/// Plans key products. Jobs with more limbs or digits than a block of parameters holds are cut, and so are
/// those whose seeds are of different rules, of which a launch has one; parts of one sum are in separate
/// launches. Sums of one job that fit into a launch are added there, the others in launches that follow.
template <typename WordT, typename EmitT>
class key_planner {
 public:
  using params = key_params<WordT>;
  key_planner(const resolver<WordT>& resolve, const params& empty, const EmitT& emit)
      : resolve_(resolve), packer_(empty, emit) {}

  void add(const key_job& job) {
    const std::uint32_t limbs = job.dst0.primes.count;
    for (std::uint32_t limb = 0; limb < limbs; limb += key_factors) {
      const std::uint32_t count = std::min(limbs - limb, key_factors);
      add_sum(job, {job.digits, job.permutation, job.accumulate, {job.plus0, job.plus1}}, limb, count);
      for (const key_part& part : job.more) {
        const key_sum sum{part.digits, part.permutation, true, addends_of(job, part)};
        if (join(job, sum, limb, count)) continue;
        packer_.flush();
        add_sum(job, sum, limb, count);
      }
    }
  }
  void finish() { packer_.flush(); }

 private:
  [[nodiscard]] bool fits(const key_run& run, std::size_t digits) {
    const params& p = packer_.params();
    return (!p.seeded || run.rule.value_or(p.rule) == p.rule) && p.jobs.jobs != key_jobs &&
           p.digits + digits <= key_digits;
  }

  /// Adds a sum with limbs of its own.
  void add_sum(const key_job& job, const key_sum& sum, std::uint32_t limb, std::uint32_t count) {
    std::size_t digit = 0;
    do {
      const key_run run = find_run(sum.digits, digit);
      const auto digits = static_cast<std::uint32_t>(std::min<std::size_t>(run.digits, key_digits));
      if (digit != 0 || !fits(run, digits) || packer_.params().jobs.limbs + count > key_factors)
        packer_.flush();
      head_ = packer_.params().jobs.jobs;
      add_piece(packer_, resolve_, job, sum, {limb, count, digit, digits});
      digit += digits;
    } while (digit < sum.digits.size());
  }

  /// Adds a sum to the job that was added last, if that is possible in its launch.
  [[nodiscard]] bool join(const key_job& job, const key_sum& sum, std::uint32_t limb, std::uint32_t count) {
    const key_run run = find_run(sum.digits, 0);
    if (run.digits != sum.digits.size() || !fits(run, run.digits)) return false;
    add_piece(packer_, resolve_, job, sum, {limb, count, 0, static_cast<std::uint32_t>(run.digits)}, head_);
    return true;
  }

  const resolver<WordT>& resolve_;
  job_packer<params, EmitT> packer_;
  std::uint32_t head_ = 0;  ///< the job that was added last, without those that joined it
};

/// The launches of a call. `rows`: digits in coefficient form have been through the first phase of their
/// transform; otherwise they have been transformed.
template <typename WordT, typename EmitT>
void plan_key(const resolver<WordT>& resolve, cache_hint keys, cache_hint data, bool rows,
              std::span<const key_job> jobs, const EmitT& emit) {
  key_params<WordT> empty;
  empty.moduli = resolve.moduli();
  if (rows) empty.roots = resolve.roots();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.log_words = resolve.log_n();
  empty.keys = keys;
  empty.data = data;
  key_planner<WordT, EmitT> planner(resolve, empty, emit);
  for (const key_job& each : jobs) planner.add(each);
  planner.finish();
}

}  // namespace halocline::backend::cuda
