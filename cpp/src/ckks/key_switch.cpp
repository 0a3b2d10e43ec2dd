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

/// Checks a decomposed polynomial against the first of its list and the key.
void check_digits(const rns::raised_digits& digits, arith::window chain, const evaluation_key& key) {
  HALOCLINE_EXPECTS(!digits.digits.empty() && digits.numbers.back() < key.digits.size(), invalid_argument,
                    "key_product: the key has ", key.digits.size(), " digits, the polynomial needs digit ",
                    digits.numbers.empty() ? 0 : digits.numbers.back());
  HALOCLINE_EXPECTS(digits.chain == chain, invalid_argument, "key_product: a polynomial over the primes [",
                    digits.chain.first, ", ", digits.chain.end(), "), the first over [", chain.first, ", ",
                    chain.end(), "); expected the same");
}

/// The part of a product modulo the special primes.
backend::key_job special_job(const poly_pair& result, const rns::raised_digits& digits,
                             const evaluation_key& key, const product_options& options) {
  backend::key_job job = make_job(result.first.special(), result.second.special(), digits, key,
                                  [&](std::size_t i) { return digits.digits[i].special(); });
  if (options.extended0 != nullptr) add_as_it_is(job, options.extended0->special());
  return job;
}

/// The part of a product modulo the own primes of digit `run`.
backend::key_job run_job(context& ctx, const poly_pair& result, const rns::raised_digits& digits,
                         const evaluation_key& key, const product_options& options, std::size_t run) {
  const arith::window part = digits.runs[run];
  backend::key_job job = make_job(result.first.chain().slice(part), result.second.chain().slice(part), digits,
                                  key, [&](std::size_t i) { return digits.at(i, run); });
  if (options.extended0 != nullptr) {
    add_as_it_is(job, options.extended0->chain().slice(part));
    return job;
  }
  if (options.plus0.data != nullptr) job.plus0 = options.plus0.slice(part);
  if (options.plus1.data != nullptr) job.plus1 = options.plus1.slice(part);
  job.factors = special_products(ctx, part);
  return job;
}

}  // namespace

poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                      const product_options& options) {
  return std::move(key_product(ctx, std::span(&digits, 1), key, std::span(&options, 1)).front());
}

std::vector<poly_pair> key_product(context& ctx, std::span<const rns::raised_digits> digits,
                                   const evaluation_key& key, std::span<const product_options> options) {
  HALOCLINE_EXPECTS(!digits.empty() && digits.size() == options.size(), invalid_argument,
                    "key_product: ", digits.size(), " polynomials with ", options.size(),
                    " options; expected the same positive number");
  const arith::window special = ctx.parameters().special_window();
  std::vector<poly_pair> results;
  results.reserve(digits.size());
  for (std::size_t k = 0; k < digits.size(); ++k) {
    check_digits(digits[k], digits.front().chain, key);
    check_addends(options[k], special, digits[k].chain);
    const auto sum = [&] {
      return ring::poly(ctx.ring(), special, digits[k].chain, object_class::scratch, options[k].tag);
    };
    results.push_back({sum(), sum()});
  }
  const std::size_t runs = digits.front().runs.size();
  std::vector<backend::key_job> jobs;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    jobs.push_back(special_job(results[k], digits[k], key, options[k]));
  }
  for (std::size_t run = 0; run < runs; ++run) {
    for (std::size_t k = 0; k < digits.size(); ++k) {
      jobs.push_back(run_job(ctx, results[k], digits[k], key, options[k], run));
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint64_t element = options[i % digits.size()].galois_element;
    if (element != 1) jobs[i].permutation = &ctx.ring().permutation(element);
  }
  ctx.device().key_multiply_accumulate(ctx.tables(), jobs);
  return results;
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
  return std::move(finish_switch(ctx, std::span(&extended, 1), level, target).front());
}

std::vector<std::vector<ring::poly>> finish_switch(context& ctx, std::span<const poly_pair> extended,
                                                   unsigned level, unsigned target) {
  const params::parameters& parameters = ctx.parameters();
  const rns::division step{
      parameters.special_window(), parameters.level(level).q, parameters.level(target).q, {}};
  std::vector<const ring::poly*> sources;
  for (const poly_pair& each : extended) sources.insert(sources.end(), {&each.first, &each.second});
  std::vector<ring::poly> quotients =
      rns::divide(ctx.ring(), ctx.converter(), step, sources, memory::object_class::ciphertext, "ciphertext");
  std::vector<std::vector<ring::poly>> results(extended.size());
  for (std::size_t i = 0; i < quotients.size(); ++i) results[i / 2].push_back(std::move(quotients[i]));
  return results;
}

}  // namespace halocline::ckks
