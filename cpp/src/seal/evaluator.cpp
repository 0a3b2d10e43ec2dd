// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/ring/automorphism.hpp"
#include "seal/switching.hpp"

namespace halocline::seal {
namespace {

using backend::limb_view;

/// A relative difference that rounding alone does not make.
constexpr double scale_tolerance = std::numeric_limits<double>::epsilon();

ciphertext make_ciphertext(context& on, std::uint32_t size, std::uint32_t primes, double scale) {
  return {polynomials(on, size, primes, memory::object_class::ciphertext, "ciphertext"), scale};
}

/// Copies the first `primes` limbs of every polynomial.
void copy_prefix(context& on, const polynomials& from, const polynomials& to) {
  std::vector<backend::unary_job> jobs;
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    jobs.push_back({to.part(i), from.part(i).slice({0, to.primes()})});
  }
  on.device().copy(on.tables(), jobs);
}

void check_lower_level(std::uint32_t primes, const char* what) {
  HALOCLINE_EXPECTS(primes > 1, level_exhausted, what,
                    ": the operand has one prime left; encrypt with more primes, or rescale less");
}

}  // namespace

std::vector<std::int64_t> non_adjacent_form(std::int64_t value) {
  const std::int64_t sign = value < 0 ? -1 : 1;
  std::vector<std::int64_t> digits;
  std::int64_t power = sign;
  for (std::int64_t rest = std::abs(value); rest != 0; rest /= 2, power *= 2) {
    if (rest % 2 == 0) continue;
    const std::int64_t digit = 2 - rest % 4;
    rest -= digit;
    digits.push_back(digit * power);
  }
  return digits;
}

std::uint64_t galois_element(std::uint64_t n, std::int64_t steps) {
  const auto slots = static_cast<std::int64_t>(n / 2);
  HALOCLINE_EXPECTS(std::abs(steps) < slots, invalid_argument, "rotate_vector: ", steps,
                    " steps; expected less than ", slots, " in either direction");
  std::uint64_t element = 1;
  for (std::int64_t i = (steps + slots) % slots; i > 0; --i) element = element * 3 & (2 * n - 1);
  return element;
}

void evaluator::check_operand(const polynomials& a, const char* what) const {
  HALOCLINE_EXPECTS(a.is_of(*ctx_), invalid_argument, what,
                    ": an operand is of another engine; load it here");
}

void evaluator::check_pair(const polynomials& a, const polynomials& b, const char* what) const {
  check_operand(a, what);
  check_operand(b, what);
  HALOCLINE_EXPECTS(a.primes() == b.primes(), invalid_argument, what, ": operands with ", a.primes(), " and ",
                    b.primes(), " primes; bring them to the same level with mod_switch_to_next");
}

void evaluator::check_scales(double a, double b, const char* what) const {
  const double larger = std::max({1.0, std::abs(a), std::abs(b)});
  HALOCLINE_EXPECTS(std::abs(a - b) < scale_tolerance * larger, scale_mismatch, what, ": scales ", a, " and ",
                    b, "; expected equal ones. Rescale, or set the scale where they are nearly equal");
}

void evaluator::check_scale(double scale, std::uint32_t primes, const char* what) const {
  const double bits = std::floor(ctx_->log2_modulus(primes)) + 1;
  HALOCLINE_EXPECTS(scale > 0 && std::isfinite(scale) && std::trunc(std::log2(scale)) < bits, scale_mismatch,
                    what, ": scale ", scale, " out of bounds; expected less than the modulus of ", bits,
                    " bits. Rescale the operands first");
}

ciphertext evaluator::negate(const ciphertext& a) {
  check_operand(a.parts, "negate");
  ciphertext made = make_ciphertext(*ctx_, a.parts.size(), a.parts.primes(), a.scale);
  std::vector<backend::unary_job> jobs;
  for (std::uint32_t i = 0; i < a.parts.size(); ++i) jobs.push_back({made.parts.part(i), a.parts.part(i)});
  ctx_->device().negate(ctx_->tables(), jobs);
  return made;
}

ciphertext evaluator::combine(const ciphertext& a, const ciphertext& b, bool subtract) {
  check_pair(a.parts, b.parts, subtract ? "sub" : "add");
  check_scales(a.scale, b.scale, subtract ? "sub" : "add");
  const std::uint32_t both = std::min(a.parts.size(), b.parts.size());
  const std::uint32_t size = std::max(a.parts.size(), b.parts.size());
  ciphertext made = make_ciphertext(*ctx_, size, a.parts.primes(), a.scale);
  std::vector<backend::binary_job> jobs;
  for (std::uint32_t i = 0; i < both; ++i) {
    jobs.push_back({made.parts.part(i), a.parts.part(i), b.parts.part(i)});
  }
  std::vector<backend::unary_job> rest;
  for (std::uint32_t i = both; i < size; ++i) {
    rest.push_back({made.parts.part(i), a.parts.size() > both ? a.parts.part(i) : b.parts.part(i)});
  }
  backend::backend& device = ctx_->device();
  subtract ? device.sub(ctx_->tables(), jobs) : device.add(ctx_->tables(), jobs);
  subtract&& b.parts.size() > both ? device.negate(ctx_->tables(), rest) : device.copy(ctx_->tables(), rest);
  return made;
}

ciphertext evaluator::add(const ciphertext& a, const ciphertext& b) { return combine(a, b, false); }
ciphertext evaluator::sub(const ciphertext& a, const ciphertext& b) { return combine(a, b, true); }

ciphertext evaluator::combine_plain(const ciphertext& a, const plaintext& b, bool subtract) {
  check_pair(a.parts, b.part, subtract ? "sub_plain" : "add_plain");
  check_scales(a.scale, b.scale, subtract ? "sub_plain" : "add_plain");
  ciphertext made = make_ciphertext(*ctx_, a.parts.size(), a.parts.primes(), a.scale);
  const backend::binary_job job{made.parts.part(0), a.parts.part(0), b.part.part(0)};
  std::vector<backend::unary_job> rest;
  for (std::uint32_t i = 1; i < a.parts.size(); ++i) rest.push_back({made.parts.part(i), a.parts.part(i)});
  backend::backend& device = ctx_->device();
  subtract ? device.sub(ctx_->tables(), {&job, 1}) : device.add(ctx_->tables(), {&job, 1});
  device.copy(ctx_->tables(), rest);
  return made;
}

ciphertext evaluator::add_plain(const ciphertext& a, const plaintext& b) {
  return combine_plain(a, b, false);
}
ciphertext evaluator::sub_plain(const ciphertext& a, const plaintext& b) { return combine_plain(a, b, true); }

ciphertext evaluator::multiply_plain(const ciphertext& a, const plaintext& b) {
  check_pair(a.parts, b.part, "multiply_plain");
  check_scale(a.scale * b.scale, a.parts.primes(), "multiply_plain");
  ciphertext made = make_ciphertext(*ctx_, a.parts.size(), a.parts.primes(), a.scale * b.scale);
  std::vector<backend::binary_job> jobs;
  for (std::uint32_t i = 0; i < a.parts.size(); ++i) {
    jobs.push_back({made.parts.part(i), a.parts.part(i), b.part.part(0)});
  }
  ctx_->device().multiply(ctx_->tables(), jobs);
  return made;
}

ciphertext evaluator::multiply(const ciphertext& a, const ciphertext& b) {
  check_pair(a.parts, b.parts, "multiply");
  check_scale(a.scale * b.scale, a.parts.primes(), "multiply");
  const std::uint32_t size = a.parts.size() + b.parts.size() - 1;
  HALOCLINE_EXPECTS(size <= seal_format::max_ciphertext_size, invalid_argument, "multiply: a product of ",
                    size, " polynomials; expected at most ", seal_format::max_ciphertext_size,
                    ". Relinearize first");
  ciphertext made = make_ciphertext(*ctx_, size, a.parts.primes(), a.scale * b.scale);
  const auto part = [](const ciphertext& of, std::uint32_t i) { return of.parts.part(i); };
  if (size == 3) {
    const backend::tensor_job job{part(made, 0), part(made, 1), part(made, 2), part(a, 0),
                                  part(a, 1),    part(b, 0),    part(b, 1)};
    ctx_->device().tensor(ctx_->tables(), {&job, 1});
    return made;
  }
  std::vector<backend::dot_job> jobs;
  for (std::uint32_t k = 0; k < size; ++k) {
    backend::dot_job job;
    job.dst = part(made, k);
    for (std::uint32_t i = 0; i < a.parts.size(); ++i) {
      if (i > k || k - i >= b.parts.size()) continue;
      job.a.push_back(part(a, i));
      job.b.push_back(part(b, k - i));
    }
    jobs.push_back(std::move(job));
  }
  ctx_->device().dot(ctx_->tables(), jobs);
  return made;
}

ciphertext evaluator::square(const ciphertext& a) { return multiply(a, a); }

ciphertext evaluator::relinearize(const ciphertext& a, const switch_key_set& keys) {
  std::vector<const switch_key*> list;
  for (std::uint32_t i = 2; i < a.parts.size(); ++i) {
    const auto key = keys.keys.find(i - 2);
    list.push_back(key == keys.keys.end() ? nullptr : &key->second);
  }
  return relinearize(a, list);
}

ciphertext evaluator::relinearize(const ciphertext& a, std::span<const switch_key* const> keys) {
  check_operand(a.parts, "relinearize");
  const std::uint32_t primes = a.parts.primes();
  ciphertext made = make_ciphertext(*ctx_, 2, primes, a.scale);
  if (a.parts.size() == 2) {
    copy_prefix(*ctx_, a.parts, made.parts);
    return made;
  }
  for (std::uint32_t i = a.parts.size() - 1; i >= 2; --i) {
    const switch_key* const key = i - 2 < keys.size() ? keys[i - 2] : nullptr;
    HALOCLINE_EXPECTS(key != nullptr, missing_key, "relinearize: no key for power ", i,
                      " of the secret key; make relinearization keys, and relinearize after each product");
    ciphertext next = make_ciphertext(*ctx_, 2, primes, a.scale);
    const polynomials& sum = i + 1 == a.parts.size() ? a.parts : made.parts;
    switch_key_of(*ctx_, a.parts.part(i), *key, sum.part(0), sum.part(1), next.parts.part(0),
                  next.parts.part(1));
    made = std::move(next);
  }
  return made;
}

ciphertext evaluator::rescale_to_next(const ciphertext& a) {
  check_operand(a.parts, "rescale_to_next");
  check_lower_level(a.parts.primes(), "rescale_to_next");
  const std::uint32_t left = a.parts.primes() - 1;
  ciphertext made =
      make_ciphertext(*ctx_, a.parts.size(), left, a.scale / static_cast<double>(ctx_->prime(left)));
  std::vector<dividend> items;
  for (std::uint32_t i = 0; i < a.parts.size(); ++i) {
    const limb_view from = a.parts.part(i);
    items.push_back({from.slice({left, 1}), from.slice({0, left}), made.parts.part(i)});
  }
  divide(*ctx_, left, items);
  return made;
}

ciphertext evaluator::mod_switch_to_next(const ciphertext& a) {
  check_operand(a.parts, "mod_switch_to_next");
  check_lower_level(a.parts.primes(), "mod_switch_to_next");
  check_scale(a.scale, a.parts.primes() - 1, "mod_switch_to_next");
  ciphertext made = make_ciphertext(*ctx_, a.parts.size(), a.parts.primes() - 1, a.scale);
  copy_prefix(*ctx_, a.parts, made.parts);
  return made;
}

plaintext evaluator::mod_switch_to_next(const plaintext& a) {
  check_operand(a.part, "mod_switch_to_next");
  check_lower_level(a.part.primes(), "mod_switch_to_next");
  check_scale(a.scale, a.part.primes() - 1, "mod_switch_to_next");
  plaintext made{polynomials(*ctx_, 1, a.part.primes() - 1, memory::object_class::plaintext, "plaintext"),
                 a.scale};
  copy_prefix(*ctx_, a.part, made.part);
  return made;
}

ciphertext evaluator::apply_galois(const ciphertext& a, std::uint64_t element, const switch_key_set& keys) {
  ring::check_galois_element(element, ctx_->tables().log_n);
  const auto key = keys.keys.find(element);
  HALOCLINE_EXPECTS(key != keys.keys.end(), missing_key, "apply_galois: no key for element ", element,
                    "; add it, or the rotation that it stands for, to the Galois keys");
  return apply_galois(a, element, key->second);
}

ciphertext evaluator::apply_galois(const ciphertext& a, std::uint64_t element, const switch_key& key) {
  check_operand(a.parts, "apply_galois");
  HALOCLINE_EXPECTS(a.parts.size() == 2, invalid_argument, "apply_galois: a ciphertext of ", a.parts.size(),
                    " polynomials; relinearize it first");
  ring::check_galois_element(element, ctx_->tables().log_n);
  const polynomials turned(*ctx_, 2, a.parts.primes(), memory::object_class::scratch, "seal.turned");
  const memory::buffer& permutation = ctx_->ring().permutation(element);
  std::vector<backend::automorphism_job> jobs;
  for (std::uint32_t i = 0; i < 2; ++i) jobs.push_back({turned.part(i), a.parts.part(i), &permutation});
  ctx_->device().automorphism(ctx_->tables(), jobs);
  ciphertext made = make_ciphertext(*ctx_, 2, a.parts.primes(), a.scale);
  switch_key_of(*ctx_, turned.part(1), key, turned.part(0), {}, made.parts.part(0), made.parts.part(1));
  return made;
}

ciphertext evaluator::rotate_vector(const ciphertext& a, std::int64_t steps, const switch_key_set& keys) {
  check_operand(a.parts, "rotate_vector");
  const std::uint64_t n = ctx_->tables().n();
  const std::uint64_t element = galois_element(n, steps);
  if (element != 1 && keys.keys.contains(element)) return apply_galois(a, element, keys);
  const std::vector<std::int64_t> digits = non_adjacent_form(steps);
  HALOCLINE_EXPECTS(digits.size() != 1, missing_key, "rotate_vector: no key for ", steps,
                    " steps; add them to the Galois keys");
  ciphertext made = make_ciphertext(*ctx_, a.parts.size(), a.parts.primes(), a.scale);
  copy_prefix(*ctx_, a.parts, made.parts);
  for (const std::int64_t digit : digits) {
    // N/2 steps are none. The form has such a digit for steps beyond N/3.
    if (static_cast<std::uint64_t>(std::abs(digit)) == n / 2) continue;
    made = rotate_vector(made, digit, keys);
  }
  return made;
}

ciphertext evaluator::complex_conjugate(const ciphertext& a, const switch_key_set& keys) {
  return apply_galois(a, 2 * ctx_->tables().n() - 1, keys);
}

polynomials evaluator::transform(const polynomials& a, bool forward) {
  check_operand(a, forward ? "transform_to_ntt" : "transform_from_ntt");
  polynomials made(*ctx_, a.size(), a.primes(), memory::object_class::ciphertext, "ciphertext");
  std::vector<backend::unary_job> jobs;
  for (std::uint32_t i = 0; i < a.size(); ++i) jobs.push_back({made.part(i), a.part(i)});
  forward ? ctx_->device().ntt(ctx_->tables(), jobs) : ctx_->device().intt(ctx_->tables(), jobs);
  return made;
}

polynomials evaluator::transform_from_ntt(const polynomials& a) { return transform(a, false); }
polynomials evaluator::transform_to_ntt(const polynomials& a) { return transform(a, true); }

}  // namespace halocline::seal
