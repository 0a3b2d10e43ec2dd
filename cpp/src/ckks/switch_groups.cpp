// SPDX-License-Identifier: Apache-2.0
// Decomposition and key product in groups of primes, so that the raised digits of a group are still in the
// cache when they are multiplied (batching by L2 size: Theodosian, arXiv 2512.18345, abstract).
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "ckks/joined_calls.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using backend::limb_view;
using memory::object_class;

/// How many times the cache the limbs of a group may take. On one H200 (60 MB) a bootstrap of n16-boot, whose
/// key switches take up to 1.3 times that, is 5 % slower with groups for half of the cache and 2 % slower
/// with groups for all of it than without: the kernels of a group are too small.
constexpr double cache_share = 4;

/// Primes that are treated alike in one group: special ones, or own primes of one digit.
struct segment {
  window primes;
  int run = -1;            ///< digit whose own primes they are; -1: special primes
  std::uint32_t limb = 0;  ///< position in the group
};
using group = std::vector<segment>;

/// Limbs that a group of `polynomials` may have.
double fitting_limbs(const context& ctx, std::size_t digits, std::size_t polynomials) {
  // Raised digits and both sums.
  const std::size_t per_limb = polynomials * (digits + 2) * ctx.tables().limb_bytes();
  return cache_share * static_cast<double>(ctx.cache_bytes()) / static_cast<double>(per_limb);
}

/// Limbs of a group of `polynomials`: all of them where the device has no cache worth it.
std::uint32_t group_size(const context& ctx, std::uint32_t limbs, std::size_t digits,
                         std::size_t polynomials) {
  if (ctx.cache_bytes() == 0) return limbs;
  const auto fitting = static_cast<std::uint32_t>(fitting_limbs(ctx, digits, polynomials));
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

/// Switches of several polynomials of one chain window with the same keys: what their groups share.
class grouped_switch {
 public:
  grouped_switch(context& ctx, std::span<const switch_source> sources, std::span<const switch_term> terms)
      : ctx_(ctx), sources_(sources), terms_(terms) {
    HALOCLINE_EXPECTS(!sources.empty(), invalid_argument,
                      "switch_product: no polynomials; expected at least one");
    chain_ = sources.front().polynomial.primes;
    for (const switch_source& each : sources) {
      const window primes = each.polynomial.primes;
      HALOCLINE_EXPECTS(primes == chain_, invalid_argument, "switch_product: a polynomial over the primes [",
                        primes.first, ", ", primes.end(), "), the first over [", chain_.first, ", ",
                        chain_.end(), "); expected the same");
    }
    digits_ = rns::digits_of(ctx.ring(), chain_);
    joined_ = terms.size() == 1 && joins_transforms(ctx, *terms.front().key, chain_);
    for (const switch_term& each : terms) {
      HALOCLINE_EXPECTS(digits_.back().number < each.key->digits.size(), invalid_argument,
                        "switch_product: the key has ", each.key->digits.size(),
                        " digits, the polynomial needs digit ", digits_.back().number);
    }
  }

  /// Over special + chain primes, one for each source.
  [[nodiscard]] std::vector<poly_pair> make_results() const {
    std::vector<poly_pair> results;
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      results.push_back(make_pair(ctx_, ctx_.parameters().special_window(), chain_, object_class::scratch,
                                  "key_switch.product"));
    }
    return results;
  }

  /// Checks what a caller gives as a result, or as an addend of the same primes.
  void require_extended(const ring::poly& given) const {
    HALOCLINE_EXPECTS(
        given.special().primes == ctx_.parameters().special_window() && given.chain().primes == chain_,
        invalid_argument, "switch_sum: a polynomial over ", given.special().primes.count,
        " special primes and the chain [", given.chain().primes.first, ", ", given.chain().primes.end(),
        "); expected ", ctx_.parameters().special_window().count, " and [", chain_.first, ", ", chain_.end(),
        ")");
  }

  void run(std::span<const poly_pair> results, bool accumulate) {
    const window special = ctx_.parameters().special_window();
    const std::uint32_t limbs = special.count + chain_.count;
    size_ = group_size(ctx_, limbs, digits_.size(), sources_.size());
    std::vector<window> runs;
    for (const rns::digit_run& each : digits_) runs.push_back(each.primes);
    std::vector<limb_view> polynomials;
    for (const switch_source& each : sources_) polynomials.push_back(each.polynomial);
    const std::vector<ring::poly> coefficients = rns::to_coefficients(ctx_.ring(), polynomials);
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      raised_.push_back(ctx_.runtime().allocate(digits_.size() * size_ * ctx_.tables().limb_bytes(),
                                                object_class::scratch, "mod_up.digit"));
    }
    const std::vector<std::size_t> bytes = key_bytes();
    const std::size_t shared =
        sources_.size() * (digits_.size() * size_ + 2 * std::size_t{limbs}) * ctx_.tables().limb_bytes();
    for (const group& each : make_groups(special, runs, size_)) {
      raise(each, coefficients);
      for (std::size_t done = 0; done < terms_.size();) {
        const std::size_t count = detail::products_per_call(ctx_, shared, std::span(bytes).subspan(done));
        multiply(each, terms_.subspan(done, count), results, accumulate || done != 0);
        done += count;
      }
    }
  }

 private:
  /// Bytes that a call touches of the key of each term.
  [[nodiscard]] std::vector<std::size_t> key_bytes() const {
    std::vector<std::uint32_t> numbers;
    for (const rns::digit_run& each : digits_) numbers.push_back(each.number);
    std::vector<std::size_t> bytes;
    for (const switch_term& each : terms_) bytes.push_back(detail::bytes_of(*each.key, numbers));
    return bytes;
  }

  /// Limbs of digit i of polynomial k modulo the primes of a segment.
  [[nodiscard]] limb_view digit_view(std::size_t k, std::size_t i, const segment& s) const {
    if (s.run == static_cast<int>(i)) return sources_[k].polynomial.slice(s.primes);
    return {&raised_[k], static_cast<std::uint32_t>(i) * size_ + s.limb, s.primes};
  }

  void raise(const group& members, const std::vector<ring::poly>& coefficients) {
    std::vector<backend::convert_job> conversions;
    std::vector<backend::unary_job> transforms;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      std::vector<segment> raised;
      std::vector<window> targets;
      for (const segment& s : members) {
        if (s.run == static_cast<int>(i)) continue;
        raised.push_back(s);
        targets.push_back(s.primes);
      }
      if (targets.empty()) continue;
      const backend::conversion_table& table = ctx_.converter().table({digits_[i].primes}, targets);
      for (std::size_t k = 0; k < sources_.size(); ++k) {
        conversions.push_back({{coefficients[k].chain().slice(digits_[i].primes)}, {}, &table});
        for (const segment& s : raised) {
          const limb_view view = digit_view(k, i, s);
          conversions.back().dst.push_back(view);
          transforms.push_back({view, view});
        }
      }
    }
    ctx_.device().base_convert(ctx_.tables(), conversions);
    if (!joined_) ctx_.device().ntt(ctx_.tables(), transforms);
  }

  /// The sum of one term.
  [[nodiscard]] backend::key_part make_part(const segment& s, std::size_t k, const switch_term& term) const {
    backend::key_part part;
    if (term.galois_element != 1) part.permutation = &ctx_.ring().permutation(term.galois_element);
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const evaluation_key_digit& digit = term.key->digits[digits_[i].number];
      part.digits.push_back({digit_view(k, i, s), &digit.b, digit.a ? &digit.a : nullptr, digit.source});
      part.digits.back().coefficients = joined_ && s.run != static_cast<int>(i);
    }
    return part;
  }

  [[nodiscard]] backend::key_job make_job(const segment& s, std::size_t k, std::span<const switch_term> terms,
                                          const poly_pair& result, bool accumulate) const {
    const auto part = [&](const ring::poly& p) {
      return s.run < 0 ? p.special().slice(s.primes) : p.chain().slice(s.primes);
    };
    backend::key_part one = make_part(s, k, terms.front());
    backend::key_job job{part(result.first), part(result.second), std::move(one.digits), accumulate};
    job.permutation = one.permutation;
    for (const switch_term& each : terms.subspan(1)) job.more.push_back(make_part(s, k, each));
    if (sources_[k].extended0 != nullptr) {
      job.plus0 = part(*sources_[k].extended0);
      job.factors.assign(s.primes.count, 1);
      return job;
    }
    if (s.run < 0) return job;
    const std::span<const std::uint64_t> factors = ctx_.converter().special_product(s.primes);
    job.factors.assign(factors.begin(), factors.end());
    if (sources_[k].plus0.data != nullptr) job.plus0 = sources_[k].plus0.slice(s.primes);
    if (sources_[k].plus1.data != nullptr) job.plus1 = sources_[k].plus1.slice(s.primes);
    return job;
  }

  void multiply(const group& members, std::span<const switch_term> terms, std::span<const poly_pair> results,
                bool accumulate) {
    std::vector<backend::key_job> jobs;
    for (const segment& s : members) {
      for (std::size_t k = 0; k < results.size(); ++k) {
        jobs.push_back(make_job(s, k, terms, results[k], accumulate));
      }
    }
    ctx_.device().key_multiply_accumulate(ctx_.tables(), jobs);
  }

  context& ctx_;
  std::span<const switch_source> sources_;
  std::span<const switch_term> terms_;
  window chain_{};
  std::vector<rns::digit_run> digits_;
  bool joined_ = false;                 ///< the product transforms the digits
  std::vector<memory::buffer> raised_;  ///< of each polynomial
  std::uint32_t size_ = 0;
};

}  // namespace

std::size_t switched_in_one_group(context& ctx, window chain) {
  const auto limbs = static_cast<double>(chain.count + ctx.parameters().special_count());
  const double fitting = fitting_limbs(ctx, rns::digits_of(ctx.ring(), chain).size(), 1) / limbs;
  return std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
}

poly_pair switch_product(context& ctx, const limb_view& source, const evaluation_key& key,
                         const limb_view& plus0, const limb_view& plus1) {
  const switch_source one{source, plus0, plus1};
  return std::move(switch_product(ctx, std::span(&one, 1), key).front());
}

std::vector<poly_pair> switch_product(context& ctx, std::span<const switch_source> sources,
                                      const evaluation_key& key) {
  const switch_term term{&key, 1};
  grouped_switch work(ctx, sources, std::span(&term, 1));
  std::vector<poly_pair> results = work.make_results();
  work.run(results, false);
  return results;
}

void switch_sum(context& ctx, const switch_source& source, std::span<const switch_term> terms,
                const poly_pair& total, bool accumulate) {
  HALOCLINE_EXPECTS(!terms.empty(), invalid_argument, "switch_sum: no keys; expected at least one");
  HALOCLINE_EXPECTS(
      source.extended0 == nullptr || (source.plus0.data == nullptr && source.plus1.data == nullptr),
      invalid_argument, "switch_sum: plus views beside extended0; add them to it first");
  grouped_switch work(ctx, std::span(&source, 1), terms);
  for (const ring::poly* each : {&total.first, &total.second, source.extended0}) {
    if (each != nullptr) work.require_extended(*each);
  }
  work.run(std::span(&total, 1), accumulate);
}

}  // namespace halocline::ckks
