// SPDX-License-Identifier: Apache-2.0
#include "seal/switching.hpp"

#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::seal {
namespace {

using backend::limb_view;

memory::buffer scratch(context& on, std::size_t limbs, const char* tag) {
  return on.runtime().allocate(limbs * on.tables().limb_bytes(), memory::object_class::scratch, tag);
}

/// Digits of a polynomial modulo the special prime and all primes of the polynomial, in this order. A digit's
/// own limb is that of the polynomial, and without meaning here.
struct digit_list {
  memory::buffer data;
  std::uint32_t special = 0;
  std::uint32_t count = 0;  ///< digits, and primes of the polynomial

  [[nodiscard]] limb_view special_part(std::uint32_t i) const {
    return {&data, i * (count + 1), {special, 1}};
  }
  [[nodiscard]] limb_view chain_part(std::uint32_t i, arith::window primes) const {
    return {&data, i * (count + 1) + 1 + primes.first, primes};
  }
};

digit_list raise_digits(context& on, const limb_view& target) {
  const std::uint32_t count = target.primes.count;
  const memory::buffer coefficients = scratch(on, count, "seal.coefficients");
  const backend::unary_job inverse{{&coefficients, 0, target.primes}, target};
  on.device().intt(on.tables(), {&inverse, 1});
  digit_list made{scratch(on, std::size_t{count} * (count + 1), "seal.digits"), on.special(), count};
  std::vector<backend::convert_job> conversions;
  std::vector<backend::unary_job> transforms;
  for (std::uint32_t i = 0; i < count; ++i) {
    backend::convert_job job{{{&coefficients, i, {i, 1}}}, {made.special_part(i)}, &on.digit_table(i, count)};
    if (i > 0) job.dst.push_back(made.chain_part(i, {0, i}));
    if (i + 1 < count) job.dst.push_back(made.chain_part(i, {i + 1, count - i - 1}));
    for (const limb_view& raised : job.dst) transforms.push_back({raised, raised});
    conversions.push_back(std::move(job));
  }
  on.device().base_convert(on.tables(), conversions);
  on.device().ntt(on.tables(), transforms);
  return made;
}

/// The key product modulo the primes of `dst0`; `limb(i)` is where digit i has its limbs for them.
template <typename LimbT>
backend::key_job product(const limb_view& dst0, const limb_view& dst1, const switch_key& key,
                         std::uint32_t count, LimbT limb) {
  backend::key_job job{dst0, dst1, {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    job.digits.push_back({limb(i), &key[i].b.data(), &key[i].a.data()});
  }
  return job;
}

}  // namespace

void divide(context& on, std::uint32_t divisor, std::span<const dividend> items) {
  if (items.empty()) return;
  const division_plan& plan = on.division(divisor, items.front().dst.primes.count);
  const memory::buffer last = scratch(on, items.size(), "seal.last");
  std::vector<backend::unary_job> transforms;
  std::vector<backend::linear_job> combinations;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const limb_view mine{&last, i, {divisor, 1}};
    transforms.push_back({mine, items[i].last});
    backend::linear_job job{items[i].dst, items[i].kept, {}, plan.inverse, plan.negative};
    job.from = {mine, {&on.ones(), 0, {divisor, 1}}};
    job.conversion = &plan.table;
    combinations.push_back(std::move(job));
  }
  std::vector<backend::scalar_job> shifts;
  for (const backend::unary_job& each : transforms) {
    shifts.push_back({each.dst, each.dst, {{plan.half, plan.half}}});
  }
  on.device().intt(on.tables(), transforms);
  on.device().scalar_add(on.tables(), shifts);
  on.device().ntt_linear_combine(on.tables(), combinations);
}

void switch_key_of(context& on, const limb_view& target, const switch_key& key, const limb_view& plus0,
                   const limb_view& plus1, const limb_view& dst0, const limb_view& dst1) {
  const std::uint32_t count = target.primes.count;
  const digit_list digits = raise_digits(on, target);
  // Sums modulo the special prime and the others, of both polynomials. What is added is multiplied by the
  // special prime first: the division then gives exactly what adding after it would.
  const memory::buffer sums = scratch(on, 2 * (std::size_t{count} + 1), "seal.sums");
  const auto special = [&](std::uint32_t k) {
    return limb_view{&sums, k * (count + 1), {digits.special, 1}};
  };
  const auto chain = [&](std::uint32_t k) { return limb_view{&sums, k * (count + 1) + 1, {0, count}}; };
  std::vector<backend::key_job> jobs;
  jobs.push_back(
      product(special(0), special(1), key, count, [&](std::uint32_t i) { return digits.special_part(i); }));
  for (std::uint32_t j = 0; j < count; ++j) {
    const arith::window one{j, 1};
    jobs.push_back(product(chain(0).slice(one), chain(1).slice(one), key, count, [&](std::uint32_t i) {
      return i == j ? target.slice(one) : digits.chain_part(i, one);
    }));
    jobs.back().plus0 = plus0.slice(one);
    if (plus1.data != nullptr) jobs.back().plus1 = plus1.slice(one);
    jobs.back().factors = {on.special_residues()[j]};
  }
  on.device().key_multiply_accumulate(on.tables(), jobs);
  const dividend items[2] = {{special(0), chain(0), dst0}, {special(1), chain(1), dst1}};
  divide(on, digits.special, items);
}

}  // namespace halocline::seal
