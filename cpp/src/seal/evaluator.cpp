// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/evaluator.hpp"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "halocline/core/expects.hpp"
#include "seal/operand_checks.hpp"

namespace halocline::seal {
namespace {

/// A batch of one, and the only result of it.
template <typename T>
struct single {
  const T* const item;
  explicit single(const T& of) noexcept : item(&of) {}
  operator std::span<const T* const>() const noexcept { return {&item, 1}; }
};

ciphertext only(std::vector<ciphertext> of) { return std::move(of.front()); }

}  // namespace

std::uint64_t galois_element(std::uint64_t n, std::int64_t steps) {
  const auto slots = static_cast<std::int64_t>(n / 2);
  HALOCLINE_EXPECTS(std::abs(steps) < slots, invalid_argument, "rotate_vector: ", steps,
                    " steps; expected less than ", slots, " in either direction");
  std::uint64_t element = 1;
  for (std::int64_t i = (steps + slots) % slots; i > 0; --i) element = element * 3 & (2 * n - 1);
  return element;
}

ciphertext evaluator::negate(const ciphertext& a) { return only(batch_evaluator(*ctx_).negate(single(a))); }
ciphertext evaluator::add(const ciphertext& a, const ciphertext& b) {
  return only(batch_evaluator(*ctx_).add(single(a), single(b)));
}
ciphertext evaluator::sub(const ciphertext& a, const ciphertext& b) {
  return only(batch_evaluator(*ctx_).sub(single(a), single(b)));
}
ciphertext evaluator::add_plain(const ciphertext& a, const plaintext& b) {
  return only(batch_evaluator(*ctx_).add_plain(single(a), single(b)));
}
ciphertext evaluator::sub_plain(const ciphertext& a, const plaintext& b) {
  return only(batch_evaluator(*ctx_).sub_plain(single(a), single(b)));
}
ciphertext evaluator::multiply_plain(const ciphertext& a, const plaintext& b) {
  return only(batch_evaluator(*ctx_).multiply_plain(single(a), single(b)));
}
ciphertext evaluator::multiply(const ciphertext& a, const ciphertext& b) {
  return only(batch_evaluator(*ctx_).multiply(single(a), single(b)));
}
ciphertext evaluator::square(const ciphertext& a) { return only(batch_evaluator(*ctx_).square(single(a))); }
ciphertext evaluator::relinearize(const ciphertext& a, const switch_key_set& keys) {
  return only(batch_evaluator(*ctx_).relinearize(single(a), keys));
}
ciphertext evaluator::rescale_to_next(const ciphertext& a) {
  return only(batch_evaluator(*ctx_).rescale_to_next(single(a)));
}
ciphertext evaluator::mod_switch_to_next(const ciphertext& a) {
  return only(batch_evaluator(*ctx_).mod_switch_to_next(single(a)));
}
ciphertext evaluator::apply_galois(const ciphertext& a, std::uint64_t element, const switch_key_set& keys) {
  return only(batch_evaluator(*ctx_).apply_galois(single(a), element, keys));
}
ciphertext evaluator::rotate_vector(const ciphertext& a, std::int64_t steps, const switch_key_set& keys) {
  return only(batch_evaluator(*ctx_).rotate_vector(single(a), steps, keys));
}
ciphertext evaluator::complex_conjugate(const ciphertext& a, const switch_key_set& keys) {
  return only(batch_evaluator(*ctx_).complex_conjugate(single(a), keys));
}

plaintext evaluator::mod_switch_to_next(const plaintext& a) {
  detail::check_operand(*ctx_, a.part, "mod_switch_to_next");
  detail::check_lower_level(a.part.primes(), "mod_switch_to_next");
  detail::check_scale(*ctx_, a.scale, a.part.primes() - 1, "mod_switch_to_next");
  plaintext made{polynomials(*ctx_, 1, a.part.primes() - 1, memory::object_class::plaintext, "plaintext"),
                 a.scale};
  const backend::unary_job job{made.part.part(0), a.part.part(0).slice({0, made.part.primes()})};
  ctx_->device().copy(ctx_->tables(), {&job, 1});
  return made;
}

}  // namespace halocline::seal
