// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_switch.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "ckks/joined_calls.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"

namespace halocline::ckks {
namespace {

using backend::limb_view;
using memory::object_class;

/// One multiply-accumulate; `limbs(i)` are those of digit i. `own`: the digit whose own primes they are.
template <typename LimbsT>
backend::key_job make_job(const limb_view& first, const limb_view& second, const rns::raised_digits& digits,
                          const evaluation_key& key, std::optional<std::size_t> own, LimbsT limbs) {
  backend::key_job job{first, second, {}, false};
  for (std::size_t i = 0; i < digits.digits.size(); ++i) {
    const evaluation_key_digit& digit = key.digits[digits.numbers[i]];
    job.digits.push_back({limbs(i), &digit.b, digit.a ? &digit.a : nullptr, digit.source});
    job.digits.back().coefficients = digits.form == rns::digit_form::coefficients && own != i;
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

/// Checks where products of a list go, unless it is made for them.
void check_total(const context& ctx, const poly_pair& total, arith::window chain) {
  const arith::window special = ctx.parameters().special_window();
  for (const ring::poly* each : {&total.first, &total.second}) {
    HALOCLINE_EXPECTS(!*each || (each->special().primes == special && each->chain().primes == chain),
                      invalid_argument, "key_products: a total over ", each->special().primes.count,
                      " special primes and the chain [", each->chain().primes.first, ", ",
                      each->chain().primes.end(), "); expected ", special.count, " and [", chain.first, ", ",
                      chain.end(), ")");
  }
}

/// Checks a product of a list whose first one is over `chain`.
void check_product(context& ctx, const joined_product& of, arith::window chain) {
  const rns::raised_digits& digits = *of.digits;
  HALOCLINE_EXPECTS(!digits.digits.empty() && digits.numbers.back() < of.key->digits.size(), invalid_argument,
                    "key_product: the key has ", of.key->digits.size(),
                    " digits, the polynomial needs digit ",
                    digits.numbers.empty() ? 0 : digits.numbers.back());
  HALOCLINE_EXPECTS(digits.chain == chain, invalid_argument, "key_product: a polynomial over the primes [",
                    digits.chain.first, ", ", digits.chain.end(), "), the first over [", chain.first, ", ",
                    chain.end(), "); expected the same");
  check_addends(of.options, ctx.parameters().special_window(), chain);
  check_total(ctx, of.total, chain);
}

/// The part of a product modulo the special primes.
backend::key_job special_job(const joined_product& of, const poly_pair& total) {
  backend::key_job job =
      make_job(total.first.special(), total.second.special(), *of.digits, *of.key, std::nullopt,
               [&](std::size_t i) { return of.digits->digits[i].special(); });
  if (of.options.extended0 != nullptr) add_as_it_is(job, of.options.extended0->special());
  return job;
}

/// The part of a product modulo the own primes of digit `run`.
backend::key_job run_job(context& ctx, const joined_product& of, const poly_pair& total, std::size_t run) {
  const arith::window part = of.digits->runs[run];
  const product_options& options = of.options;
  backend::key_job job =
      make_job(total.first.chain().slice(part), total.second.chain().slice(part), *of.digits, *of.key, run,
               [&](std::size_t i) { return of.digits->at(i, run); });
  if (options.extended0 != nullptr) {
    add_as_it_is(job, options.extended0->chain().slice(part));
    return job;
  }
  if (options.plus0.data != nullptr) job.plus0 = options.plus0.slice(part);
  if (options.plus1.data != nullptr) job.plus1 = options.plus1.slice(part);
  job.factors = special_products(ctx, part);
  return job;
}

/// Bytes that a product touches: the key, what is made and, where they are not those of the product before,
/// the digits.
std::size_t product_bytes(const context& ctx, const joined_product& of, bool decomposed) {
  const std::size_t limbs = ctx.parameters().special_count() + of.digits->chain.count;
  const std::size_t polynomials = 2 + (decomposed ? of.digits->digits.size() : 0);
  return polynomials * limbs * ctx.tables().limb_bytes() + detail::bytes_of(*of.key, of.digits->numbers);
}

/// Checks products of one list. Bytes that each touches.
std::vector<std::size_t> checked_bytes(context& ctx, std::span<const joined_product> products) {
  std::vector<std::size_t> bytes;
  for (const joined_product& each : products) {
    check_product(ctx, each, products.front().digits->chain);
    const bool decomposed = bytes.empty() || each.digits != products[bytes.size() - 1].digits;
    bytes.push_back(product_bytes(ctx, each, decomposed));
  }
  return bytes;
}

const memory::buffer* permutation_of(context& ctx, const joined_product& of) {
  const std::uint64_t element = of.options.galois_element;
  return element == 1 ? nullptr : &ctx.ring().permutation(element);
}

/// Products in one call of the backend. Jobs of the same part of the digits stand next to each other, so that
/// it may still be in a cache the next time.
void multiply(context& ctx, std::span<joined_product> products) {
  std::vector<const memory::buffer*> permutations;
  std::vector<bool> accumulates;
  for (joined_product& each : products) {
    accumulates.push_back(static_cast<bool>(each.total.first));
    if (!accumulates.back()) {
      each.total = make_pair(ctx, ctx.parameters().special_window(), each.digits->chain,
                             object_class::scratch, each.options.tag);
    }
    permutations.push_back(permutation_of(ctx, each));
  }
  std::vector<backend::key_job> jobs;
  const auto add = [&](const auto& job_of) {
    for (std::size_t k = 0; k < products.size(); ++k) {
      jobs.push_back(job_of(products[k]));
      jobs.back().accumulate = accumulates[k];
      jobs.back().permutation = permutations[k];
    }
  };
  add([](const joined_product& each) { return special_job(each, each.total); });
  for (std::size_t run = 0; run < products.front().digits->runs.size(); ++run) {
    add([&](const joined_product& each) { return run_job(ctx, each, each.total, run); });
  }
  ctx.device().key_multiply_accumulate(ctx.tables(), jobs);
}

/// The sum of products in one call of the backend: a job for each part of the primes, with a sum for each
/// product.
void add_to(context& ctx, std::span<const joined_product> products, const poly_pair& total, bool accumulate) {
  std::vector<backend::key_job> jobs;
  const auto add = [&](const auto& job_of) {
    for (const joined_product& each : products) {
      backend::key_job made = job_of(each);
      made.permutation = permutation_of(ctx, each);
      if (&each != &products.front()) {
        jobs.back().more.push_back({std::move(made.digits), made.permutation, made.plus0, made.plus1});
        continue;
      }
      made.accumulate = accumulate;
      jobs.push_back(std::move(made));
    }
  };
  add([&](const joined_product& each) { return special_job(each, total); });
  for (std::size_t run = 0; run < products.front().digits->runs.size(); ++run) {
    add([&](const joined_product& each) { return run_job(ctx, each, total, run); });
  }
  ctx.device().key_multiply_accumulate(ctx.tables(), jobs);
}

}  // namespace

bool joins_transforms(context& ctx, const evaluation_key& key, arith::window chain) {
  const auto seeded = [](const evaluation_key_digit& digit) { return !digit.a; };
  if (ctx.cache_bytes() == 0 || std::any_of(key.digits.begin(), key.digits.end(), seeded)) return false;
  const std::size_t budget = ctx.joining_budget();
  if (budget == 0) return true;
  std::vector<std::uint32_t> numbers;
  for (const rns::digit_run& each : rns::digits_of(ctx.ring(), chain)) numbers.push_back(each.number);
  // Beside what the product touches, the tables of the transform: four limbs for each prime.
  const std::size_t limbs = ctx.parameters().special_count() + std::size_t{chain.count};
  const std::size_t each = (2 + numbers.size() + 4) * limbs * ctx.tables().limb_bytes();
  return each + detail::bytes_of(key, numbers) <= budget / 4;
}

poly_pair make_pair(context& ctx, arith::window special, arith::window chain, object_class cls,
                    const char* tag) {
  return {{ctx.ring(), special, chain, cls, tag}, {ctx.ring(), special, chain, cls, tag}};
}

poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                      const product_options& options) {
  return std::move(key_product(ctx, std::span(&digits, 1), key, std::span(&options, 1)).front());
}

std::vector<poly_pair> key_product(context& ctx, std::span<const rns::raised_digits> digits,
                                   const evaluation_key& key, std::span<const product_options> options) {
  HALOCLINE_EXPECTS(!digits.empty() && digits.size() == options.size(), invalid_argument,
                    "key_product: ", digits.size(), " polynomials with ", options.size(),
                    " options; expected the same positive number");
  std::vector<joined_product> products;
  for (std::size_t k = 0; k < digits.size(); ++k) products.push_back({&digits[k], &key, options[k]});
  for (const joined_product& each : products) check_product(ctx, each, digits.front().chain);
  multiply(ctx, products);
  std::vector<poly_pair> results;
  for (joined_product& each : products) results.push_back(std::move(each.total));
  return results;
}

void key_products(context& ctx, std::span<joined_product> products) {
  const std::vector<std::size_t> bytes = checked_bytes(ctx, products);
  for (std::size_t done = 0; done < products.size();) {
    const std::size_t count = detail::products_per_call(ctx, 0, std::span(bytes).subspan(done));
    multiply(ctx, products.subspan(done, count));
    done += count;
  }
}

void key_product_sum(context& ctx, std::span<const joined_product> products, poly_pair& total) {
  HALOCLINE_EXPECTS(!products.empty(), invalid_argument,
                    "key_product_sum: no products; expected at least one");
  const joined_product& first = products.front();
  const bool extended = first.options.extended0 != nullptr;
  for (const joined_product& each : products) {
    HALOCLINE_EXPECTS((each.options.extended0 != nullptr) == extended, invalid_argument,
                      "key_product_sum: some products have extended0 and others do not; expected one kind");
  }
  const std::vector<std::size_t> bytes = checked_bytes(ctx, products);
  check_total(ctx, total, first.digits->chain);
  bool accumulate = static_cast<bool>(total.first);
  if (!accumulate) {
    total = make_pair(ctx, ctx.parameters().special_window(), first.digits->chain, object_class::scratch,
                      first.options.tag);
  }
  for (std::size_t done = 0; done < products.size(); accumulate = true) {
    const std::size_t count = detail::products_per_call(ctx, 0, std::span(bytes).subspan(done));
    add_to(ctx, products.subspan(done, count), total, accumulate);
    done += count;
  }
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

namespace {

/// chain += P * src on the primes of src.
backend::linear_job times_special_job(context& ctx, const ring::poly& extended, const limb_view& src) {
  const limb_view chain = extended.chain().slice(src.primes);
  return {chain, chain, src, std::vector<std::uint64_t>(src.primes.count, 1),
          special_products(ctx, src.primes)};
}

}  // namespace

void add_times_special(context& ctx, const ring::poly& extended, const backend::limb_view& src) {
  const backend::linear_job job = times_special_job(ctx, extended, src);
  ctx.device().linear_combine(ctx.tables(), {&job, 1});
}

void add_times_special(context& ctx, const poly_pair& extended, const limb_view& first,
                       const limb_view& second) {
  const backend::linear_job jobs[] = {times_special_job(ctx, extended.first, first),
                                      times_special_job(ctx, extended.second, second)};
  ctx.device().linear_combine(ctx.tables(), jobs);
}

void set_times_special(context& ctx, const poly_pair& extended, const limb_view& first,
                       const limb_view& second) {
  const limb_view zeros[] = {extended.first.special(), extended.second.special()};
  ctx.device().set_zero(ctx.tables(), zeros);
  std::vector<backend::scalar_pair> factors;
  for (const std::uint64_t each : special_products(ctx, first.primes)) factors.push_back({each, each});
  const backend::scalar_job jobs[] = {{extended.first.chain(), first, factors},
                                      {extended.second.chain(), second, factors}};
  ctx.device().scalar_multiply(ctx.tables(), jobs);
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
