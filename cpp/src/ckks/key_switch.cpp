// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_switch.hpp"

#include <span>
#include <utility>

#include "halocline/ckks/context.hpp"
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
std::vector<std::uint64_t> special_products(context& ctx, arith::window primes) {
  const std::span<const std::uint64_t> kept = ctx.converter().special_product(primes);
  return {kept.begin(), kept.end()};
}

/// Adds `addend`, which spans the primes of the job, to the first sum.
void add_as_it_is(backend::key_job& job, const limb_view& addend) {
  job.plus0 = addend;
  job.factors.assign(addend.primes.count, 1);
}

void check_addends(const product_options& options, arith::window special, arith::window chain) {
  if (options.extended0 == nullptr) return;
  HALOCLINE_EXPECTS(options.plus0.data == nullptr && options.plus1.data == nullptr, invalid_argument,
                    "key_product: plus views beside extended0; add them to it first");
  const arith::window has = options.extended0->chain().primes;
  HALOCLINE_EXPECTS(options.extended0->special().primes == special && has == chain, invalid_argument,
                    "key_product: extended0 spans ", options.extended0->special().primes.count,
                    " special primes and the chain [", has.first, ", ", has.end(), "), the product ",
                    special.count, " and [", chain.first, ", ", chain.end(), "); they must be the same");
}

}  // namespace

poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                      const product_options& options) {
  HALOCLINE_EXPECTS(!digits.digits.empty() && digits.numbers.back() < key.digits.size(), invalid_argument,
                    "key_product: the key has ", key.digits.size(), " digits, the polynomial needs digit ",
                    digits.numbers.empty() ? 0 : digits.numbers.back());
  const arith::window special = ctx.parameters().special_window();
  check_addends(options, special, digits.chain);
  poly_pair result{{ctx.ring(), special, digits.chain, object_class::scratch, options.tag},
                   {ctx.ring(), special, digits.chain, object_class::scratch, options.tag}};
  std::vector<backend::key_job> jobs;
  jobs.push_back(make_job(result.first.special(), result.second.special(), digits, key,
                          [&](std::size_t i) { return digits.digits[i].special(); }));
  if (options.extended0 != nullptr) add_as_it_is(jobs.back(), options.extended0->special());
  for (std::size_t run = 0; run < digits.runs.size(); ++run) {
    const arith::window part = digits.runs[run];
    jobs.push_back(make_job(result.first.chain().slice(part), result.second.chain().slice(part), digits, key,
                            [&](std::size_t i) { return digits.at(i, run); }));
    if (options.extended0 != nullptr) {
      add_as_it_is(jobs.back(), options.extended0->chain().slice(part));
      continue;
    }
    if (options.plus0.data != nullptr) jobs.back().plus0 = options.plus0.slice(part);
    if (options.plus1.data != nullptr) jobs.back().plus1 = options.plus1.slice(part);
    jobs.back().factors = special_products(ctx, part);
  }
  if (options.galois_element != 1) {
    const memory::buffer& permutation = ctx.ring().permutation(options.galois_element);
    for (backend::key_job& job : jobs) job.permutation = &permutation;
  }
  ctx.device().key_multiply_accumulate(ctx.tables(), jobs);
  return result;
}

poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                      const limb_view& plus0, const limb_view& plus1) {
  product_options options;
  options.plus0 = plus0;
  options.plus1 = plus1;
  return key_product(ctx, digits, key, options);
}

poly_pair divide_by_special(context& ctx, const poly_pair& extended, unsigned level, memory::object_class cls,
                            const char* tag) {
  const arith::window chain = ctx.parameters().level(level).q;
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

std::vector<ring::poly> finish_switch(context& ctx, const poly_pair& extended, unsigned level,
                                      unsigned target) {
  const params::parameters& parameters = ctx.parameters();
  const rns::division step{
      parameters.special_window(), parameters.level(level).q, parameters.level(target).q, {}};
  const std::vector<const ring::poly*> sources{&extended.first, &extended.second};
  return rns::divide(ctx.ring(), ctx.converter(), step, sources, memory::object_class::ciphertext,
                     "ciphertext");
}

}  // namespace halocline::ckks
