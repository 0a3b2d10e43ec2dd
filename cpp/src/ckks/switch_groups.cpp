// SPDX-License-Identifier: Apache-2.0
// Decomposition and key product in groups of primes, so that the raised digits of a group are still in the
// cache when they are multiplied (batching by L2 size: Theodosian, arXiv 2512.18345, abstract).
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using backend::limb_view;
using memory::object_class;

/// Share of the cache that the limbs of a group may take: keys stream through the rest.
constexpr double cache_share = 0.5;

/// Primes that are treated alike in one group: special ones, or own primes of one digit.
struct segment {
  window primes;
  int run = -1;            ///< digit whose own primes they are; -1: special primes
  std::uint32_t limb = 0;  ///< position in the group
};
using group = std::vector<segment>;

/// Limbs of a group: all of them where the device has no cache worth it.
std::uint32_t group_size(const context& ctx, std::uint32_t limbs, std::size_t digits) {
  if (ctx.cache_bytes() == 0) return limbs;
  const std::size_t per_limb = (digits + 2) * ctx.tables().limb_bytes();  // raised digits and both sums
  const auto fitting = static_cast<std::uint32_t>(cache_share * static_cast<double>(ctx.cache_bytes()) /
                                                  static_cast<double>(per_limb));
  const std::uint32_t count = (limbs + std::max(1U, fitting) - 1) / std::max(1U, fitting);
  return (limbs + count - 1) / count;
}

std::vector<group> make_groups(window special, std::span<const window> runs, std::uint32_t size) {
  std::vector<group> groups(1);
  std::uint32_t filled = 0;
  const auto add = [&](window primes, int run) {
    while (primes.count != 0) {
      if (filled == size) {
        groups.emplace_back();
        filled = 0;
      }
      const std::uint32_t count = std::min(primes.count, size - filled);
      groups.back().push_back({{primes.first, count}, run, filled});
      filled += count;
      primes = {primes.first + count, primes.count - count};
    }
  };
  add(special, -1);
  for (std::size_t i = 0; i < runs.size(); ++i) add(runs[i], static_cast<int>(i));
  return groups;
}

/// One switch: what its groups share.
class grouped_switch {
 public:
  grouped_switch(context& ctx, const limb_view& source, const evaluation_key& key)
      : ctx_(ctx), source_(source), key_(key), digits_(rns::digits_of(ctx.ring(), source.primes)) {
    HALOCLINE_EXPECTS(digits_.back().number < key.digits.size(), invalid_argument,
                      "switch_product: the key has ", key.digits.size(),
                      " digits, the polynomial needs digit ", digits_.back().number);
  }

  poly_pair run(const limb_view& plus0, const limb_view& plus1) {
    const window special = ctx_.parameters().special_window();
    const std::uint32_t limbs = special.count + source_.primes.count;
    size_ = group_size(ctx_, limbs, digits_.size());
    std::vector<window> runs;
    for (const rns::digit_run& each : digits_) runs.push_back(each.primes);
    const ring::poly coefficients = rns::to_coefficients(ctx_.ring(), source_);
    raised_ = ctx_.runtime().allocate(digits_.size() * size_ * ctx_.tables().limb_bytes(),
                                      object_class::scratch, "mod_up.digit");
    poly_pair result{{ctx_.ring(), special, source_.primes, object_class::scratch, "key_switch.product"},
                     {ctx_.ring(), special, source_.primes, object_class::scratch, "key_switch.product"}};
    for (const group& each : make_groups(special, runs, size_)) {
      raise(each, coefficients.chain());
      multiply(each, result, plus0, plus1);
    }
    return result;
  }

 private:
  /// Limbs of digit i modulo the primes of a segment.
  [[nodiscard]] limb_view digit_view(std::size_t i, const segment& s) const {
    if (s.run == static_cast<int>(i)) return source_.slice(s.primes);
    return {&raised_, static_cast<std::uint32_t>(i) * size_ + s.limb, s.primes};
  }

  void raise(const group& members, const limb_view& coefficients) {
    std::vector<backend::convert_job> conversions;
    std::vector<backend::unary_job> transforms;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      backend::convert_job conversion{{coefficients.slice(digits_[i].primes)}, {}, nullptr};
      std::vector<window> targets;
      for (const segment& s : members) {
        if (s.run == static_cast<int>(i)) continue;
        conversion.dst.push_back(digit_view(i, s));
        transforms.push_back({conversion.dst.back(), conversion.dst.back()});
        targets.push_back(s.primes);
      }
      if (targets.empty()) continue;
      conversion.table = &ctx_.converter().table({digits_[i].primes}, targets);
      conversions.push_back(std::move(conversion));
    }
    ctx_.device().base_convert(ctx_.tables(), conversions);
    ctx_.device().ntt(ctx_.tables(), transforms);
  }

  void multiply(const group& members, const poly_pair& result, const limb_view& plus0,
                const limb_view& plus1) {
    std::vector<backend::key_job> jobs;
    for (const segment& s : members) {
      const auto part = [&](const ring::poly& p) {
        return s.run < 0 ? p.special().slice(s.primes) : p.chain().slice(s.primes);
      };
      backend::key_job job{part(result.first), part(result.second), {}, false};
      for (std::size_t i = 0; i < digits_.size(); ++i) {
        const evaluation_key_digit& digit = key_.digits[digits_[i].number];
        job.digits.push_back({digit_view(i, s), &digit.b, digit.a ? &digit.a : nullptr, digit.source});
      }
      if (s.run >= 0) {
        const std::span<const std::uint64_t> factors = ctx_.converter().special_product(s.primes);
        job.factors.assign(factors.begin(), factors.end());
        if (plus0.data != nullptr) job.plus0 = plus0.slice(s.primes);
        if (plus1.data != nullptr) job.plus1 = plus1.slice(s.primes);
      }
      jobs.push_back(std::move(job));
    }
    ctx_.device().key_multiply_accumulate(ctx_.tables(), jobs);
  }

  context& ctx_;
  limb_view source_;
  const evaluation_key& key_;
  std::vector<rns::digit_run> digits_;
  memory::buffer raised_;
  std::uint32_t size_ = 0;
};

}  // namespace

poly_pair switch_product(context& ctx, const limb_view& source, const evaluation_key& key,
                         const limb_view& plus0, const limb_view& plus1) {
  return grouped_switch(ctx, source, key).run(plus0, plus1);
}

}  // namespace halocline::ckks
