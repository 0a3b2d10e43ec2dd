// SPDX-License-Identifier: Apache-2.0
#include "circuits/switch_work.hpp"

#include <algorithm>

namespace halocline::circuits::detail {

namespace {

/// Primes of a digit that a chain has.
double own_primes(arith::window digit, arith::window chain) {
  return std::max(0, static_cast<int>(std::min(digit.end(), chain.end())) -
                         static_cast<int>(std::max(digit.first, chain.first)));
}

}  // namespace

unsigned digits_at(const params::parameters& parameters, unsigned level) {
  const arith::window chain = parameters.level(level).q;
  unsigned digits = 0;
  for (unsigned j = 0; j < parameters.digit_count(); ++j) {
    if (own_primes(parameters.digit(j), chain) != 0) ++digits;
  }
  return digits;
}

switch_work work_at(const params::parameters& parameters, unsigned level) {
  const arith::window chain = parameters.level(level).q;
  switch_work w{};
  w.pass = 2.0 / parameters.log_n();
  w.limbs = chain.count;
  w.special = parameters.special_count();
  const double extended = w.limbs + w.special;
  for (unsigned j = 0; j < parameters.digit_count(); ++j) {
    const double own = own_primes(parameters.digit(j), chain);
    w.raise += own * (extended - own) * w.pass;
  }
  const double digits = digits_at(parameters, level);
  w.raise += digits * extended;
  // Keys come from memory, not from a cache, as digits and results mostly do: reading or writing a limb there
  // takes a fifth of an NTT for N = 2^16 on an H200 (0.06 of 0.31 us).
  const double stream = 3.2 / parameters.log_n();
  w.multiply = (3 * digits + 6) * extended * stream;
  // `key_dot` reads keys from memory and digits from a cache, and writes nothing.
  w.join = (2 * digits + 2) * extended * stream;
  w.divide = extended + w.special * w.limbs * w.pass;
  return w;
}

double rotation_work(const params::parameters& parameters, unsigned level) {
  const switch_work w = work_at(parameters, level);
  return w.raise + w.multiply + 2 * w.divide;
}

double sum_work(const params::parameters& parameters, unsigned level,
                std::span<const ckks::rotation_stage> stages) {
  const switch_work w = work_at(parameters, level);
  double total = stages.empty() ? 0.0 : w.divide;  // the first component, once
  for (const ckks::rotation_stage& stage : stages) {
    total += w.raise + static_cast<double>(stage.size() - 1) * w.multiply + w.divide;
  }
  return total;
}

unsigned best_sum_radix(const params::parameters& parameters, unsigned level, std::uint32_t count) {
  const auto work = [&](unsigned radix) {
    return sum_work(parameters, level, ckks::sum_stages(1, count, radix));
  };
  return *std::min_element(std::begin(sum_radixes), std::end(sum_radixes),
                           [&](unsigned a, unsigned b) { return work(a) < work(b); });
}

}  // namespace halocline::circuits::detail
