// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/ring/automorphism.hpp"
#include "halocline/seal/evaluator.hpp"
#include "halocline/seal/forms.hpp"
#include "seal/operand_checks.hpp"
#include "seal/switching.hpp"

namespace halocline::seal {
namespace {

using backend::limb_view;
using results = batch_evaluator::results;

std::vector<const ciphertext*> pointers(const results& of) {
  std::vector<const ciphertext*> made;
  for (const ciphertext& each : of) made.push_back(&each);
  return made;
}

const polynomials& parts_of(const ciphertext& a) { return a.parts; }
const polynomials& parts_of(const plaintext& a) { return a.part; }

/// The first `made.primes()` limbs of polynomial `i`.
backend::unary_job copied(const ciphertext& made, const ciphertext& a, std::uint32_t i) {
  return {made.parts.part(i), a.parts.part(i).slice({0, made.parts.primes()})};
}

/// Products of all polynomials of a with all of b, by total degree.
void add_products(const ciphertext& made, const ciphertext& a, const ciphertext& b,
                  std::vector<backend::dot_job>& jobs) {
  for (std::uint32_t k = 0; k < made.parts.size(); ++k) {
    backend::dot_job job;
    job.dst = made.parts.part(k);
    for (std::uint32_t i = 0; i < a.parts.size(); ++i) {
      if (i > k || k - i >= b.parts.size()) continue;
      job.a.push_back(a.parts.part(i));
      job.b.push_back(b.parts.part(k - i));
    }
    jobs.push_back(std::move(job));
  }
}

}  // namespace

void batch_evaluator::check_operands(ciphertexts a, const char* what) const {
  for (const ciphertext* each : a) {
    detail::check_operand(*ctx_, each->parts, what);
    HALOCLINE_EXPECTS(
        each->parts.primes() == a[0]->parts.primes() && each->parts.size() == a[0]->parts.size(),
        invalid_argument, what, ": operands with ", a[0]->parts.size(), " polynomials of ",
        a[0]->parts.primes(), " primes and with ", each->parts.size(), " of ", each->parts.primes(),
        " in one batch; expected equal numbers, so make a batch of each kind");
  }
}

template <typename SecondT>
void batch_evaluator::check_pairs(ciphertexts a, SecondT b, const char* what) const {
  HALOCLINE_EXPECTS(a.size() == b.size(), invalid_argument, what, ": lists of ", a.size(), " and ", b.size(),
                    " operands; expected equal numbers");
  check_operands(a, what);
  if constexpr (std::is_same_v<SecondT, ciphertexts>) check_operands(b, what);
  for (std::size_t i = 0; i < b.size(); ++i) {
    const polynomials& second = parts_of(*b[i]);
    detail::check_operand(*ctx_, second, what);
    HALOCLINE_EXPECTS(a[i]->parts.primes() == second.primes(), invalid_argument, what, ": operands with ",
                      a[i]->parts.primes(), " and ", second.primes(),
                      " primes; bring them to the same level with mod_switch_to_next");
  }
}

results batch_evaluator::made_like(ciphertexts a, std::uint32_t size, std::uint32_t primes) const {
  results made;
  made.reserve(a.size());
  for (const ciphertext* each : a) {
    made.push_back(
        {polynomials(*ctx_, size, primes, memory::object_class::ciphertext, "ciphertext"), each->scale});
  }
  return made;
}

results batch_evaluator::prefixes(ciphertexts a, std::uint32_t primes) {
  results made = made_like(a, a[0]->parts.size(), primes);
  std::vector<backend::unary_job> jobs;
  for (std::size_t c = 0; c < a.size(); ++c) {
    for (std::uint32_t i = 0; i < a[c]->parts.size(); ++i) jobs.push_back(copied(made[c], *a[c], i));
  }
  ctx_->device().copy(ctx_->tables(), jobs);
  return made;
}

results batch_evaluator::negate(ciphertexts a) {
  if (a.empty()) return {};
  check_operands(a, "negate");
  results made = made_like(a, a[0]->parts.size(), a[0]->parts.primes());
  std::vector<backend::unary_job> jobs;
  for (std::size_t c = 0; c < a.size(); ++c) {
    for (std::uint32_t i = 0; i < a[c]->parts.size(); ++i) jobs.push_back(copied(made[c], *a[c], i));
  }
  ctx_->device().negate(ctx_->tables(), jobs);
  return made;
}

results batch_evaluator::combine(ciphertexts a, ciphertexts b, bool subtract) {
  const char* const what = subtract ? "sub" : "add";
  check_pairs(a, b, what);
  if (a.empty()) return {};
  for (std::size_t c = 0; c < a.size(); ++c) detail::check_scales(a[c]->scale, b[c]->scale, what);
  const std::uint32_t left = a[0]->parts.size(), right = b[0]->parts.size(), both = std::min(left, right);
  results made = made_like(a, std::max(left, right), a[0]->parts.primes());
  std::vector<backend::binary_job> jobs;
  std::vector<backend::unary_job> rest;
  for (std::size_t c = 0; c < a.size(); ++c) {
    for (std::uint32_t i = 0; i < both; ++i) {
      jobs.push_back({made[c].parts.part(i), a[c]->parts.part(i), b[c]->parts.part(i)});
    }
    for (std::uint32_t i = both; i < made[c].parts.size(); ++i) {
      rest.push_back(copied(made[c], left > both ? *a[c] : *b[c], i));
    }
  }
  backend::backend& device = ctx_->device();
  subtract ? device.sub(ctx_->tables(), jobs) : device.add(ctx_->tables(), jobs);
  subtract&& right > both ? device.negate(ctx_->tables(), rest) : device.copy(ctx_->tables(), rest);
  return made;
}

results batch_evaluator::add(ciphertexts a, ciphertexts b) { return combine(a, b, false); }
results batch_evaluator::sub(ciphertexts a, ciphertexts b) { return combine(a, b, true); }

results batch_evaluator::combine_plain(ciphertexts a, plaintexts b, bool subtract) {
  const char* const what = subtract ? "sub_plain" : "add_plain";
  check_pairs(a, b, what);
  if (a.empty()) return {};
  for (std::size_t c = 0; c < a.size(); ++c) detail::check_scales(a[c]->scale, b[c]->scale, what);
  results made = made_like(a, a[0]->parts.size(), a[0]->parts.primes());
  std::vector<backend::binary_job> jobs;
  std::vector<backend::unary_job> rest;
  for (std::size_t c = 0; c < a.size(); ++c) {
    jobs.push_back({made[c].parts.part(0), a[c]->parts.part(0), b[c]->part.part(0)});
    for (std::uint32_t i = 1; i < a[c]->parts.size(); ++i) rest.push_back(copied(made[c], *a[c], i));
  }
  backend::backend& device = ctx_->device();
  subtract ? device.sub(ctx_->tables(), jobs) : device.add(ctx_->tables(), jobs);
  device.copy(ctx_->tables(), rest);
  return made;
}

results batch_evaluator::add_plain(ciphertexts a, plaintexts b) { return combine_plain(a, b, false); }
results batch_evaluator::sub_plain(ciphertexts a, plaintexts b) { return combine_plain(a, b, true); }

results batch_evaluator::multiply_plain(ciphertexts a, plaintexts b) {
  check_pairs(a, b, "multiply_plain");
  if (a.empty()) return {};
  for (std::size_t c = 0; c < a.size(); ++c) {
    detail::check_scale(*ctx_, a[c]->scale * b[c]->scale, a[c]->parts.primes(), "multiply_plain");
  }
  results made = made_like(a, a[0]->parts.size(), a[0]->parts.primes());
  std::vector<backend::binary_job> jobs;
  for (std::size_t c = 0; c < a.size(); ++c) {
    made[c].scale *= b[c]->scale;
    for (std::uint32_t i = 0; i < a[c]->parts.size(); ++i) {
      jobs.push_back({made[c].parts.part(i), a[c]->parts.part(i), b[c]->part.part(0)});
    }
  }
  ctx_->device().multiply(ctx_->tables(), jobs);
  return made;
}

results batch_evaluator::multiply(ciphertexts a, ciphertexts b) {
  check_pairs(a, b, "multiply");
  if (a.empty()) return {};
  for (std::size_t c = 0; c < a.size(); ++c) {
    detail::check_scale(*ctx_, a[c]->scale * b[c]->scale, a[c]->parts.primes(), "multiply");
  }
  const std::uint32_t size = a[0]->parts.size() + b[0]->parts.size() - 1;
  HALOCLINE_EXPECTS(size <= seal_format::max_ciphertext_size, invalid_argument, "multiply: a product of ",
                    size, " polynomials; expected at most ", seal_format::max_ciphertext_size,
                    ". Relinearize first");
  results made = made_like(a, size, a[0]->parts.primes());
  std::vector<backend::tensor_job> tensors;
  std::vector<backend::dot_job> dots;
  for (std::size_t c = 0; c < a.size(); ++c) {
    made[c].scale *= b[c]->scale;
    const polynomials &x = a[c]->parts, &y = b[c]->parts, &z = made[c].parts;
    if (x.size() == 2 && y.size() == 2) {
      tensors.push_back({z.part(0), z.part(1), z.part(2), x.part(0), x.part(1), y.part(0), y.part(1)});
    } else {
      add_products(made[c], *a[c], *b[c], dots);
    }
  }
  if (!tensors.empty()) ctx_->device().tensor(ctx_->tables(), tensors);
  if (!dots.empty()) ctx_->device().dot(ctx_->tables(), dots);
  return made;
}

results batch_evaluator::square(ciphertexts a) { return multiply(a, a); }

results batch_evaluator::relinearize(ciphertexts a, const switch_key_set& keys) {
  check_operands(a, "relinearize");
  if (a.empty()) return {};
  const std::uint32_t size = a[0]->parts.size(), primes = a[0]->parts.primes();
  if (size == 2) return prefixes(a, primes);
  results made;
  for (std::uint32_t i = size - 1; i >= 2; --i) {
    const auto key = keys.keys.find(i - 2);
    HALOCLINE_EXPECTS(key != keys.keys.end(), missing_key, "relinearize: no key for power ", i,
                      " of the secret key; make relinearization keys, and relinearize after each product");
    results next = made_like(a, 2, primes);
    std::vector<switch_item> items;
    for (std::size_t c = 0; c < a.size(); ++c) {
      const polynomials& sum = i + 1 == size ? a[c]->parts : made[c].parts;
      items.push_back({a[c]->parts.part(i), &key->second, sum.part(0), sum.part(1), next[c].parts.part(0),
                       next[c].parts.part(1)});
    }
    switch_keys(*ctx_, items);
    made = std::move(next);
  }
  return made;
}

results batch_evaluator::rescale_to_next(ciphertexts a) {
  check_operands(a, "rescale_to_next");
  if (a.empty()) return {};
  detail::check_lower_level(a[0]->parts.primes(), "rescale_to_next");
  const std::uint32_t left = a[0]->parts.primes() - 1;
  results made = made_like(a, a[0]->parts.size(), left);
  std::vector<dividend> items;
  for (std::size_t c = 0; c < a.size(); ++c) {
    made[c].scale /= static_cast<double>(ctx_->prime(left));
    for (std::uint32_t i = 0; i < a[c]->parts.size(); ++i) {
      const limb_view from = a[c]->parts.part(i);
      items.push_back({from.slice({left, 1}), from.slice({0, left}), made[c].parts.part(i)});
    }
  }
  divide(*ctx_, left, items);
  return made;
}

results batch_evaluator::mod_switch_to_next(ciphertexts a) {
  check_operands(a, "mod_switch_to_next");
  if (a.empty()) return {};
  const std::uint32_t primes = a[0]->parts.primes();
  detail::check_lower_level(primes, "mod_switch_to_next");
  for (const ciphertext* each : a) detail::check_scale(*ctx_, each->scale, primes - 1, "mod_switch_to_next");
  return prefixes(a, primes - 1);
}

results batch_evaluator::apply_galois(ciphertexts a, std::uint64_t element, const switch_key_set& keys) {
  check_operands(a, "apply_galois");
  ring::check_galois_element(element, ctx_->tables().log_n);
  if (a.empty()) return {};
  HALOCLINE_EXPECTS(a[0]->parts.size() == 2, invalid_argument, "apply_galois: a ciphertext of ",
                    a[0]->parts.size(), " polynomials; relinearize it first");
  const auto key = keys.keys.find(element);
  HALOCLINE_EXPECTS(key != keys.keys.end(), missing_key, "apply_galois: no key for element ", element,
                    "; add it, or the rotation that it stands for, to the Galois keys");
  const std::uint32_t primes = a[0]->parts.primes();
  const polynomials turned(*ctx_, static_cast<std::uint32_t>(2 * a.size()), primes,
                           memory::object_class::scratch, "seal.turned");
  const memory::buffer& permutation = ctx_->ring().permutation(element);
  results made = made_like(a, 2, primes);
  std::vector<backend::automorphism_job> jobs;
  std::vector<switch_item> items;
  for (std::uint32_t c = 0; c < a.size(); ++c) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      jobs.push_back({turned.part(2 * c + i), a[c]->parts.part(i), &permutation});
    }
    items.push_back({turned.part(2 * c + 1),
                     &key->second,
                     turned.part(2 * c),
                     {},
                     made[c].parts.part(0),
                     made[c].parts.part(1)});
  }
  ctx_->device().automorphism(ctx_->tables(), jobs);
  switch_keys(*ctx_, items);
  return made;
}

results batch_evaluator::rotate_vector(ciphertexts a, std::int64_t steps, const switch_key_set& keys) {
  check_operands(a, "rotate_vector");
  if (a.empty()) return {};
  const std::uint64_t n = ctx_->tables().n();
  const std::uint64_t element = galois_element(n, steps);
  if (element != 1 && keys.keys.contains(element)) return apply_galois(a, element, keys);
  const std::vector<std::int64_t> digits = rotation_digits(steps);
  HALOCLINE_EXPECTS(digits.size() != 1, missing_key, "rotate_vector: no key for ", steps,
                    " steps; add them to the Galois keys");
  results made = prefixes(a, a[0]->parts.primes());
  for (const std::int64_t digit : digits) {
    // N/2 steps are none. The form has such a digit for steps beyond N/3.
    if (static_cast<std::uint64_t>(std::abs(digit)) == n / 2) continue;
    made = rotate_vector(pointers(made), digit, keys);
  }
  return made;
}

results batch_evaluator::complex_conjugate(ciphertexts a, const switch_key_set& keys) {
  return apply_galois(a, 2 * ctx_->tables().n() - 1, keys);
}

}  // namespace halocline::seal
