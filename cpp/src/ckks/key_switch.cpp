// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_switch.hpp"

#include <span>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"

namespace halocline::ckks {
namespace {

using backend::limb_view;
using memory::object_class;

/// One multiply-accumulate; `limbs(i)` are those of digit i.
template <typename LimbsT>
backend::key_job make_job(const limb_view& first, const limb_view& second, const rns::raised_digits& digits,
                          const evaluation_key& key, LimbsT limbs) {
  backend::key_job job{first, second, {}, false};
  for (std::size_t i = 0; i < digits.digits.size(); ++i) {
    const evaluation_key_digit& digit = key.digits[digits.numbers[i]];
    job.digits.push_back({limbs(i), &digit.b, digit.a ? &digit.a : nullptr, digit.source});
  }
  return job;
}

/// P modulo every prime of `primes`.
std::vector<std::uint64_t> special_products(context& ctx, backend::window primes) {
  const std::span<const std::uint64_t> kept = ctx.converter().special_product(primes);
  return {kept.begin(), kept.end()};
}

}  // namespace

poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                      const limb_view& plus0, const limb_view& plus1) {
  HALOCLINE_EXPECTS(!digits.digits.empty() && digits.numbers.back() < key.digits.size(), invalid_argument,
                    "key_product: the key has ", key.digits.size(), " digits, the polynomial needs digit ",
                    digits.numbers.empty() ? 0 : digits.numbers.back());
  const backend::window special = ctx.parameters().special_window();
  poly_pair result{{ctx.ring(), special, digits.chain, object_class::scratch, "key_switch.product"},
                   {ctx.ring(), special, digits.chain, object_class::scratch, "key_switch.product"}};
  std::vector<backend::key_job> jobs;
  jobs.push_back(make_job(result.first.special(), result.second.special(), digits, key,
                          [&](std::size_t i) { return digits.digits[i].special(); }));
  for (std::size_t run = 0; run < digits.runs.size(); ++run) {
    const backend::window part = digits.runs[run];
    jobs.push_back(make_job(result.first.chain().slice(part), result.second.chain().slice(part), digits, key,
                            [&](std::size_t i) { return digits.at(i, run); }));
    if (plus0.data != nullptr) jobs.back().plus0 = plus0.slice(part);
    if (plus1.data != nullptr) jobs.back().plus1 = plus1.slice(part);
    jobs.back().factors = special_products(ctx, part);
  }
  ctx.device().key_multiply_accumulate(ctx.tables(), jobs);
  return result;
}

poly_pair divide_by_special(context& ctx, const poly_pair& extended, unsigned level, memory::object_class cls,
                            const char* tag) {
  const backend::window chain = ctx.parameters().level(level).q;
  const rns::division step{ctx.parameters().special_window(), chain, chain, {}};
  const std::vector<const ring::poly*> sources{&extended.first, &extended.second};
  std::vector<ring::poly> quotients = rns::divide(ctx.ring(), ctx.converter(), step, sources, cls, tag);
  return {std::move(quotients[0]), std::move(quotients[1])};
}

void add_times_special(context& ctx, const ring::poly& extended, const backend::limb_view& src) {
  const backend::ring_tables& tables = ctx.tables();
  const limb_view chain = extended.chain().slice(src.primes);
  const backend::linear_job job{chain, chain, src, std::vector<std::uint64_t>(src.primes.count, 1),
                                special_products(ctx, src.primes)};
  ctx.device().linear_combine(tables, {&job, 1});
}

ring::poly apply_automorphism(context& ctx, const ring::poly& source, std::uint64_t galois_element,
                              memory::object_class cls, const char* tag) {
  const memory::buffer& permutation = ctx.ring().permutation(galois_element);
  ring::poly result(ctx.ring(), source.special().primes, source.chain().primes, cls, tag);
  const std::vector<limb_view> from = source.views();
  const std::vector<limb_view> to = result.views();
  std::vector<backend::automorphism_job> jobs;
  for (std::size_t i = 0; i < from.size(); ++i) jobs.push_back({to[i], from[i], &permutation});
  ctx.device().automorphism(ctx.tables(), jobs);
  return result;
}

}  // namespace halocline::ckks
