// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_dot.hpp"

#include <algorithm>
#include <cstddef>

#include "ckks/joined_calls.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using backend::limb_view;

/// The part of a call modulo some primes.
class dot_part {
 public:
  dot_part(context& ctx, const dot_source& source) : ctx_(ctx), source_(source) {}

  /// Digits are `limbs(entry)`, polynomials are `view(polynomial)` there.
  template <typename LimbsT, typename ViewT>
  [[nodiscard]] backend::key_dot_job job(std::span<const dot_term> terms, std::span<const dot_sum> sums,
                                         const LimbsT& limbs, const ViewT& view) const {
    backend::key_dot_job made;
    for (const dot_term& each : terms) {
      backend::key_term& term = made.terms.emplace_back();
      if (each.galois_element != 1) term.permutation = &ctx_.ring().permutation(each.galois_element);
      if (each.key != nullptr) add_digits(term, *each.key, limbs);
    }
    for (const dot_sum& each : sums) {
      backend::weighted_sum sum{view(each.total->first), view(each.total->second), each.accumulate,
                                each.numbers};
      for (const ring::poly* weight : each.weights) sum.weights.push_back(view(*weight));
      made.sums.push_back(std::move(sum));
    }
    return made;
  }

  /// P times the ciphertext, on primes of the chain; P is 0 on the others.
  void add_ciphertext(backend::key_dot_job& job, std::span<const dot_term> terms,
                      arith::window primes) const {
    for (std::size_t t = 0; t < terms.size(); ++t) {
      job.terms[t].plus0 = source_.first.slice(primes);
      if (terms[t].key == nullptr) job.terms[t].plus1 = source_.second.slice(primes);
    }
    const std::span<const std::uint64_t> product = ctx_.converter().special_product(primes);
    job.factors.assign(product.begin(), product.end());
  }

 private:
  template <typename LimbsT>
  void add_digits(backend::key_term& term, const evaluation_key& key, const LimbsT& limbs) const {
    HALOCLINE_EXPECTS(source_.digits != nullptr, invalid_argument,
                      "key_dot: a term with a key, and no digits; decompose the second component");
    const rns::raised_digits& digits = *source_.digits;
    HALOCLINE_EXPECTS(digits.form == rns::digit_form::points, invalid_argument,
                      "key_dot: digits in coefficient form, which are for one product; expected NTT form");
    HALOCLINE_EXPECTS(takes_key(key) && digits.numbers.back() < key.digits.size(), invalid_argument,
                      "key_dot: a key that is seeded, or has ", key.digits.size(), " digits instead of ",
                      digits.numbers.back() + 1, "; expand it, or use key_product");
    for (std::size_t i = 0; i < digits.digits.size(); ++i) {
      const evaluation_key_digit& digit = key.digits[digits.numbers[i]];
      term.digits.push_back({limbs(i), &digit.b, &digit.a});
    }
  }

  context& ctx_;
  const dot_source& source_;
};

}  // namespace

std::size_t key_dot_bytes(const context& ctx) { return detail::call_bytes(ctx, std::size_t{1} << 30); }

std::size_t terms_per_call(const context& ctx, std::span<const dot_term> terms,
                           std::span<const std::uint32_t> numbers, std::size_t weights) {
  std::vector<std::size_t> bytes;
  for (const dot_term& each : terms) {
    bytes.push_back(weights + (each.key == nullptr ? 0 : detail::bytes_of(*each.key, numbers)));
  }
  return detail::products_within(key_dot_bytes(ctx), 0, bytes);
}

bool takes_key(const evaluation_key& key) noexcept {
  return key.digits.size() <= backend::most_dot_digits &&
         std::ranges::all_of(key.digits,
                             [](const evaluation_key_digit& digit) { return static_cast<bool>(digit.a); });
}

void key_dot(context& ctx, const dot_source& source, std::span<const dot_term> terms,
             std::span<const dot_sum> sums) {
  const dot_part parts(ctx, source);
  std::vector<backend::key_dot_job> jobs;
  jobs.push_back(parts.job(
      terms, sums, [&](std::size_t i) { return source.digits->digits[i].special(); },
      [](const ring::poly& p) { return p.special(); }));
  std::vector<arith::window> runs{source.first.primes};
  if (source.digits != nullptr) runs = source.digits->runs;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    jobs.push_back(parts.job(
        terms, sums, [&](std::size_t i) { return source.digits->at(i, run); },
        [&](const ring::poly& p) { return p.chain().slice(runs[run]); }));
    parts.add_ciphertext(jobs.back(), terms, runs[run]);
  }
  ctx.device().key_dot(ctx.tables(), jobs);
}

}  // namespace halocline::ckks
