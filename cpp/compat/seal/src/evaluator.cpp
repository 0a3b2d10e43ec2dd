// SPDX-License-Identifier: Apache-2.0
#include "seal/evaluator.h"

#include "evaluator_checks.hpp"
#include "operation.hpp"

namespace seal {

using halocline_detail::operation;
using halocline_detail::place_of;
using halocline_detail::result_shape;
using halocline_detail::core::evaluator;

namespace {

/// A key for one of the powers of two that a rotation is composed of.
void check_has_digit(const GaloisKeys& keys, std::size_t slots, int steps, std::int64_t digit) {
  const auto element = static_cast<std::uint32_t>(
      halocline_detail::core::galois_element(2 * static_cast<std::uint64_t>(slots), digit));
  if (keys.has_key(element)) return;
  std::string message = "Galois key not present, for " + std::to_string(steps) + " steps";
  if (digit != steps) message += ", nor the one for " + std::to_string(digit) + " that it could be made of";
  throw std::invalid_argument(message);
}

}  // namespace

Evaluator::Evaluator(const SEALContext& context) : context_(context) {
  halocline_detail::check_parameters(context_);
  static_cast<void>(
      halocline_detail::default_place());  // a wrong name is refused here, and not in an operation
}

void Evaluator::negate(const Ciphertext& encrypted, Ciphertext& destination) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  const operation at(context_, place_of(encrypted));
  const auto a = at.operand(encrypted);
  at.run([&](evaluator& on) { return on.negate(a->value()); }, halocline_detail::shape_of(encrypted),
         destination);
}

void Evaluator::add(const Ciphertext& encrypted1, const Ciphertext& encrypted2,
                    Ciphertext& destination) const {
  halocline_detail::check_pair(encrypted1, encrypted2, context_);
  halocline_detail::check_scales(encrypted1.scale(), encrypted2.scale());
  const operation at(context_, place_of(encrypted1, encrypted2));
  const auto a = at.operand(encrypted1), b = at.operand(encrypted2);
  at.run([&](evaluator& on) { return on.add(a->value(), b->value()); },
         halocline_detail::shape_of(encrypted1), destination);
}

void Evaluator::add_many(const std::vector<Ciphertext>& encrypteds, Ciphertext& destination) const {
  if (encrypteds.empty()) throw std::invalid_argument("encrypteds cannot be empty");
  for (const Ciphertext& each : encrypteds) {
    if (&each == &destination) throw std::invalid_argument("encrypteds must be different from destination");
  }
  Ciphertext sum = encrypteds.front();
  for (std::size_t i = 1; i < encrypteds.size(); ++i) add_inplace(sum, encrypteds[i]);
  destination = std::move(sum);
}

void Evaluator::sub(const Ciphertext& encrypted1, const Ciphertext& encrypted2,
                    Ciphertext& destination) const {
  halocline_detail::check_pair(encrypted1, encrypted2, context_);
  halocline_detail::check_scales(encrypted1.scale(), encrypted2.scale());
  const operation at(context_, place_of(encrypted1, encrypted2));
  const auto a = at.operand(encrypted1), b = at.operand(encrypted2);
  if (a == b) operation::refuse_transparent();
  at.run([&](evaluator& on) { return on.sub(a->value(), b->value()); },
         halocline_detail::shape_of(encrypted1), destination);
}

void Evaluator::multiply(const Ciphertext& encrypted1, const Ciphertext& encrypted2, Ciphertext& destination,
                         MemoryPoolHandle pool) const {
  halocline_detail::check_pair(encrypted1, encrypted2, context_);
  halocline_detail::check_pool(pool);
  if (!encrypted1.is_ntt_form()) throw std::invalid_argument("encrypted1 or encrypted2 must be in NTT form");
  if (encrypted1.size() + encrypted2.size() > SEAL_CIPHERTEXT_SIZE_MAX + 1) {
    throw std::invalid_argument("the product would have more than 16 polynomials; relinearize first");
  }
  result_shape shape = halocline_detail::shape_of(encrypted1);
  shape.scale *= encrypted2.scale();
  halocline_detail::check_scale(shape, context_);
  const operation at(context_, place_of(encrypted1, encrypted2));
  const auto a = at.operand(encrypted1), b = at.operand(encrypted2);
  at.run([&](evaluator& on) { return on.multiply(a->value(), b->value()); }, shape, destination);
}

void Evaluator::square(const Ciphertext& encrypted, Ciphertext& destination, MemoryPoolHandle pool) const {
  multiply(encrypted, encrypted, destination, std::move(pool));
}

void Evaluator::relinearize(const Ciphertext& encrypted, const RelinKeys& relin_keys, Ciphertext& destination,
                            MemoryPoolHandle pool) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  halocline_detail::check_keys(relin_keys, context_, "relin_keys");
  halocline_detail::check_pool(pool);
  if (encrypted.size() < SEAL_CIPHERTEXT_SIZE_MIN) throw std::invalid_argument("encrypted is empty");
  if (encrypted.size() == SEAL_CIPHERTEXT_SIZE_MIN) {
    if (&destination != &encrypted) destination = encrypted;
    return;
  }
  halocline_detail::check_ntt_form(encrypted);
  for (std::size_t power = 2; power < encrypted.size(); ++power) {
    if (!relin_keys.has_key(power)) throw std::invalid_argument("not enough relinearization keys");
  }
  const operation at(context_, halocline_detail::place_with(encrypted, relin_keys));
  const auto a = at.operand(encrypted);
  const auto keys = at.operand(relin_keys);
  at.run([&](evaluator& on) { return on.relinearize(a->value(), *keys); },
         halocline_detail::shape_of(encrypted), destination);
}

void Evaluator::rescale_to_next(const Ciphertext& encrypted, Ciphertext& destination,
                                MemoryPoolHandle pool) const {
  const auto next = halocline_detail::next_level(encrypted, context_);
  halocline_detail::check_pool(pool);
  halocline_detail::check_ntt_form(encrypted);
  const auto& primes = context_.get_context_data(encrypted.parms_id())->parms().coeff_modulus();
  const result_shape shape{next->parms_id(), encrypted.scale() / static_cast<double>(primes.back().value()),
                           true};
  halocline_detail::check_scale(shape, context_);
  const operation at(context_, place_of(encrypted));
  const auto a = at.operand(encrypted);
  at.run([&](evaluator& on) { return on.rescale_to_next(a->value()); }, shape, destination);
}

void Evaluator::mod_switch_to_next(const Ciphertext& encrypted, Ciphertext& destination,
                                   MemoryPoolHandle pool) const {
  const auto next = halocline_detail::next_level(encrypted, context_);
  halocline_detail::check_pool(pool);
  halocline_detail::check_ntt_form(encrypted);
  const result_shape shape{next->parms_id(), encrypted.scale(), true};
  halocline_detail::check_scale(shape, context_);
  const operation at(context_, place_of(encrypted));
  const auto a = at.operand(encrypted);
  at.run([&](evaluator& on) { return on.mod_switch_to_next(a->value()); }, shape, destination);
}

void Evaluator::mod_switch_to_next(const Plaintext& plain, Plaintext& destination) const {
  halocline_detail::check_valid(plain, context_, "plain");
  if (!plain.is_ntt_form()) throw std::invalid_argument("plain must be in NTT form");
  const auto next = context_.get_context_data(plain.parms_id())->next_context_data();
  if (!next) throw std::invalid_argument("end of modulus switching chain reached");
  const result_shape shape{next->parms_id(), plain.scale(), true};
  halocline_detail::check_scale(shape, context_);
  // Primes are in order, so the limbs that stay are a prefix of the words.
  const std::size_t count = next->parms().coeff_modulus().size() * next->parms().poly_modulus_degree();
  Plaintext made = plain;
  halocline_detail::plaintext_access::device(made).drop();
  halocline_detail::plaintext_access::words(made).resize(count);
  halocline_detail::plaintext_access::set_shape(made, shape.parms_id, count, shape.scale);
  destination = std::move(made);
}

void Evaluator::add_plain(const Ciphertext& encrypted, const Plaintext& plain, Ciphertext& destination,
                          MemoryPoolHandle pool) const {
  halocline_detail::check_with_plain(encrypted, plain, context_);
  halocline_detail::check_pool(pool);
  halocline_detail::check_ntt_form(encrypted);
  halocline_detail::check_scales(encrypted.scale(), plain.scale());
  const operation at(context_, place_of(encrypted, plain));
  const auto a = at.operand(encrypted);
  const auto b = at.operand(plain);
  at.run([&](evaluator& on) { return on.add_plain(a->value(), b->value()); },
         halocline_detail::shape_of(encrypted), destination);
}

void Evaluator::sub_plain(const Ciphertext& encrypted, const Plaintext& plain, Ciphertext& destination,
                          MemoryPoolHandle pool) const {
  halocline_detail::check_with_plain(encrypted, plain, context_);
  halocline_detail::check_pool(pool);
  halocline_detail::check_ntt_form(encrypted);
  halocline_detail::check_scales(encrypted.scale(), plain.scale());
  const operation at(context_, place_of(encrypted, plain));
  const auto a = at.operand(encrypted);
  const auto b = at.operand(plain);
  at.run([&](evaluator& on) { return on.sub_plain(a->value(), b->value()); },
         halocline_detail::shape_of(encrypted), destination);
}

void Evaluator::multiply_plain(const Ciphertext& encrypted, const Plaintext& plain, Ciphertext& destination,
                               MemoryPoolHandle pool) const {
  halocline_detail::check_with_plain(encrypted, plain, context_);
  halocline_detail::check_pool(pool);
  result_shape shape = halocline_detail::shape_of(encrypted);
  shape.scale *= plain.scale();
  halocline_detail::check_scale(shape, context_);
  const operation at(context_, place_of(encrypted, plain));
  if (at.is_away() && plain.is_zero()) operation::refuse_transparent();
  const auto a = at.operand(encrypted);
  const auto b = at.operand(plain);
  const auto product = [&](evaluator& on) {
    if (encrypted.is_ntt_form()) return on.multiply_plain(a->value(), b->value());
    const halocline_detail::core::ciphertext points{
        halocline_detail::core::to_points(at.ring(), a->value().parts), 1.0};
    const halocline_detail::core::ciphertext made = on.multiply_plain(points, b->value());
    return halocline_detail::core::ciphertext{halocline_detail::core::to_coefficients(at.ring(), made.parts),
                                              1.0};
  };
  at.run(product, shape, destination);
}

void Evaluator::transform_to_ntt(const Ciphertext& encrypted, Ciphertext& destination_ntt) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  if (encrypted.is_ntt_form()) throw std::invalid_argument("encrypted is already in NTT form");
  const operation at(context_, place_of(encrypted));
  const auto a = at.operand(encrypted);
  result_shape shape = halocline_detail::shape_of(encrypted);
  shape.is_ntt_form = true;
  const auto body = [&](evaluator&) {
    return halocline_detail::core::ciphertext{halocline_detail::core::to_points(at.ring(), a->value().parts),
                                              1.0};
  };
  at.run(body, shape, destination_ntt);
}

void Evaluator::transform_from_ntt(const Ciphertext& encrypted_ntt, Ciphertext& destination) const {
  halocline_detail::check_valid(encrypted_ntt, context_, "encrypted_ntt");
  if (!encrypted_ntt.is_ntt_form()) throw std::invalid_argument("encrypted_ntt is not in NTT form");
  const operation at(context_, place_of(encrypted_ntt));
  const auto a = at.operand(encrypted_ntt);
  result_shape shape = halocline_detail::shape_of(encrypted_ntt);
  shape.is_ntt_form = false;
  const auto body = [&](evaluator&) {
    return halocline_detail::core::ciphertext{
        halocline_detail::core::to_coefficients(at.ring(), a->value().parts), 1.0};
  };
  at.run(body, shape, destination);
}

void Evaluator::apply_galois(const Ciphertext& encrypted, std::uint32_t galois_elt,
                             const GaloisKeys& galois_keys, Ciphertext& destination,
                             MemoryPoolHandle pool) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  halocline_detail::check_keys(galois_keys, context_, "galois_keys");
  halocline_detail::check_pool(pool);
  const std::size_t n = context_.key_context_data()->parms().poly_modulus_degree();
  if (galois_elt % 2 == 0 || galois_elt >= 2 * n) {
    throw std::invalid_argument("galois_elt " + std::to_string(galois_elt) +
                                " is not valid; expected an odd number below " + std::to_string(2 * n));
  }
  if (!galois_keys.has_key(galois_elt)) {
    throw std::invalid_argument("Galois key not present, for element " + std::to_string(galois_elt));
  }
  if (encrypted.size() != SEAL_CIPHERTEXT_SIZE_MIN) {
    throw std::invalid_argument("encrypted size must be 2; relinearize first");
  }
  halocline_detail::check_ntt_form(encrypted);
  const operation at(context_, halocline_detail::place_with(encrypted, galois_keys));
  const auto a = at.operand(encrypted);
  const auto key = at.operand(galois_keys, galois_elt);
  at.run([&](evaluator& on) { return on.apply_galois(a->value(), galois_elt, *key); },
         halocline_detail::shape_of(encrypted), destination);
}

void Evaluator::rotate_vector(const Ciphertext& encrypted, int steps, const GaloisKeys& galois_keys,
                              Ciphertext& destination, MemoryPoolHandle pool) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  halocline_detail::check_keys(galois_keys, context_, "galois_keys");
  halocline_detail::check_pool(pool);
  const auto reach = static_cast<std::int64_t>(
      context_.get_context_data(encrypted.parms_id())->parms().poly_modulus_degree() / 2);
  if (steps == 0) {
    if (&destination != &encrypted) destination = encrypted;
    return;
  }
  if (steps <= -reach || steps >= reach) throw std::invalid_argument("step count too large");
  const auto element = static_cast<std::uint32_t>(
      halocline_detail::core::galois_element(2 * static_cast<std::uint64_t>(reach), steps));
  if (galois_keys.has_key(element)) return apply_galois(encrypted, element, galois_keys, destination, pool);
  const std::vector<std::int64_t> digits = halocline_detail::core::rotation_digits(steps);
  for (const std::int64_t digit : digits) {
    if (std::abs(digit) != reach) check_has_digit(galois_keys, static_cast<std::size_t>(reach), steps, digit);
  }
  Ciphertext made = encrypted;
  for (const std::int64_t digit : digits) {
    if (std::abs(digit) == reach) continue;  // a whole turn
    rotate_vector(made, static_cast<int>(digit), galois_keys, made, pool);
  }
  destination = std::move(made);
}

void Evaluator::complex_conjugate(const Ciphertext& encrypted, const GaloisKeys& galois_keys,
                                  Ciphertext& destination, MemoryPoolHandle pool) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  const std::size_t n = context_.key_context_data()->parms().poly_modulus_degree();
  apply_galois(encrypted, static_cast<std::uint32_t>(2 * n - 1), galois_keys, destination, std::move(pool));
}

}  // namespace seal
