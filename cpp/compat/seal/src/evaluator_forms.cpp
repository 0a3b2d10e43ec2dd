// SPDX-License-Identifier: Apache-2.0
// Operations in place, over several levels, and those of other schemes.
#include "evaluator_checks.hpp"
#include "seal/evaluator.h"

namespace seal {
namespace {

[[noreturn]] void refuse_scheme(const char* name) {
  throw std::logic_error(std::string(name) +
                         ": unsupported scheme; it is of BFV and BGV, and this library computes with CKKS");
}

/// Whether an object has to lose primes to get to `parms_id`.
/// @throws std::invalid_argument for a parms_id of other parameters, or one with more primes
template <typename ObjectT>
bool has_way_down(const ObjectT& from, const parms_id_type& parms_id, const SEALContext& context,
                  const char* name) {
  const auto now = context.get_context_data(from.parms_id());
  const auto target = context.get_context_data(parms_id);
  if (!now) throw std::invalid_argument(std::string(name) + " is not valid for encryption parameters");
  if (!target) throw std::invalid_argument("parms_id is not valid for encryption parameters");
  if (now->chain_index() < target->chain_index()) {
    throw std::invalid_argument("cannot switch to higher level modulus");
  }
  return from.parms_id() != parms_id;
}

}  // namespace

void Evaluator::negate_inplace(Ciphertext& encrypted) const { negate(encrypted, encrypted); }
void Evaluator::add_inplace(Ciphertext& encrypted1, const Ciphertext& encrypted2) const {
  add(encrypted1, encrypted2, encrypted1);
}
void Evaluator::sub_inplace(Ciphertext& encrypted1, const Ciphertext& encrypted2) const {
  sub(encrypted1, encrypted2, encrypted1);
}
void Evaluator::multiply_inplace(Ciphertext& encrypted1, const Ciphertext& encrypted2,
                                 MemoryPoolHandle pool) const {
  multiply(encrypted1, encrypted2, encrypted1, std::move(pool));
}
void Evaluator::square_inplace(Ciphertext& encrypted, MemoryPoolHandle pool) const {
  square(encrypted, encrypted, std::move(pool));
}
void Evaluator::relinearize_inplace(Ciphertext& encrypted, const RelinKeys& relin_keys,
                                    MemoryPoolHandle pool) const {
  relinearize(encrypted, relin_keys, encrypted, std::move(pool));
}
void Evaluator::mod_switch_to_next_inplace(Ciphertext& encrypted, MemoryPoolHandle pool) const {
  mod_switch_to_next(encrypted, encrypted, std::move(pool));
}
void Evaluator::mod_switch_to_next_inplace(Plaintext& plain) const { mod_switch_to_next(plain, plain); }
void Evaluator::mod_switch_to_inplace(Ciphertext& encrypted, parms_id_type parms_id,
                                      MemoryPoolHandle pool) const {
  mod_switch_to(encrypted, parms_id, encrypted, std::move(pool));
}
void Evaluator::mod_switch_to_inplace(Plaintext& plain, parms_id_type parms_id) const {
  mod_switch_to(plain, parms_id, plain);
}
void Evaluator::rescale_to_next_inplace(Ciphertext& encrypted, MemoryPoolHandle pool) const {
  rescale_to_next(encrypted, encrypted, std::move(pool));
}
void Evaluator::rescale_to_inplace(Ciphertext& encrypted, parms_id_type parms_id,
                                   MemoryPoolHandle pool) const {
  rescale_to(encrypted, parms_id, encrypted, std::move(pool));
}
void Evaluator::add_plain_inplace(Ciphertext& encrypted, const Plaintext& plain,
                                  MemoryPoolHandle pool) const {
  add_plain(encrypted, plain, encrypted, std::move(pool));
}
void Evaluator::sub_plain_inplace(Ciphertext& encrypted, const Plaintext& plain,
                                  MemoryPoolHandle pool) const {
  sub_plain(encrypted, plain, encrypted, std::move(pool));
}
void Evaluator::multiply_plain_inplace(Ciphertext& encrypted, const Plaintext& plain,
                                       MemoryPoolHandle pool) const {
  multiply_plain(encrypted, plain, encrypted, std::move(pool));
}
void Evaluator::transform_to_ntt_inplace(Ciphertext& encrypted) const {
  transform_to_ntt(encrypted, encrypted);
}
void Evaluator::transform_from_ntt_inplace(Ciphertext& encrypted_ntt) const {
  transform_from_ntt(encrypted_ntt, encrypted_ntt);
}
void Evaluator::apply_galois_inplace(Ciphertext& encrypted, std::uint32_t galois_elt,
                                     const GaloisKeys& galois_keys, MemoryPoolHandle pool) const {
  apply_galois(encrypted, galois_elt, galois_keys, encrypted, std::move(pool));
}
void Evaluator::rotate_vector_inplace(Ciphertext& encrypted, int steps, const GaloisKeys& galois_keys,
                                      MemoryPoolHandle pool) const {
  rotate_vector(encrypted, steps, galois_keys, encrypted, std::move(pool));
}
void Evaluator::complex_conjugate_inplace(Ciphertext& encrypted, const GaloisKeys& galois_keys,
                                          MemoryPoolHandle pool) const {
  complex_conjugate(encrypted, galois_keys, encrypted, std::move(pool));
}

void Evaluator::mod_switch_to(const Ciphertext& encrypted, parms_id_type parms_id, Ciphertext& destination,
                              MemoryPoolHandle pool) const {
  if (!has_way_down(encrypted, parms_id, context_, "encrypted")) {
    if (&destination != &encrypted) destination = encrypted;
    return;
  }
  Ciphertext made = encrypted;
  while (made.parms_id() != parms_id) mod_switch_to_next(made, made, pool);
  destination = std::move(made);
}

void Evaluator::mod_switch_to(const Plaintext& plain, parms_id_type parms_id, Plaintext& destination) const {
  halocline_detail::check_valid(plain, context_, "plain");
  if (!plain.is_ntt_form()) throw std::invalid_argument("plain is not in NTT form");
  Plaintext made = plain;
  if (has_way_down(plain, parms_id, context_, "plain")) {
    while (made.parms_id() != parms_id) mod_switch_to_next(made, made);
  }
  destination = std::move(made);
}

void Evaluator::rescale_to(const Ciphertext& encrypted, parms_id_type parms_id, Ciphertext& destination,
                           MemoryPoolHandle pool) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  if (!has_way_down(encrypted, parms_id, context_, "encrypted")) {
    if (&destination != &encrypted) destination = encrypted;
    return;
  }
  Ciphertext made = encrypted;
  while (made.parms_id() != parms_id) rescale_to_next(made, made, pool);
  destination = std::move(made);
}

void Evaluator::multiply_many(const std::vector<Ciphertext>& encrypteds, const RelinKeys&, Ciphertext&,
                              MemoryPoolHandle) const {
  if (encrypteds.empty()) throw std::invalid_argument("encrypteds vector must not be empty");
  refuse_scheme("multiply_many");
}
void Evaluator::exponentiate_inplace(Ciphertext& encrypted, std::uint64_t exponent, const RelinKeys&,
                                     MemoryPoolHandle) const {
  halocline_detail::check_valid(encrypted, context_, "encrypted");
  if (exponent == 0) throw std::invalid_argument("exponent cannot be 0");
  if (exponent != 1) refuse_scheme("exponentiate");
}
void Evaluator::exponentiate(const Ciphertext& encrypted, std::uint64_t exponent, const RelinKeys& relin_keys,
                             Ciphertext& destination, MemoryPoolHandle pool) const {
  Ciphertext made = encrypted;
  exponentiate_inplace(made, exponent, relin_keys, std::move(pool));
  destination = std::move(made);
}
void Evaluator::mod_reduce_to_next_inplace(Ciphertext&, MemoryPoolHandle) const {
  refuse_scheme("mod_reduce_to_next");
}
void Evaluator::mod_reduce_to_next(const Ciphertext&, Ciphertext&, MemoryPoolHandle) const {
  refuse_scheme("mod_reduce_to_next");
}
void Evaluator::mod_reduce_to_inplace(Ciphertext&, parms_id_type, MemoryPoolHandle) const {
  refuse_scheme("mod_reduce_to");
}
void Evaluator::mod_reduce_to(const Ciphertext&, parms_id_type, Ciphertext&, MemoryPoolHandle) const {
  refuse_scheme("mod_reduce_to");
}
void Evaluator::rotate_rows_inplace(Ciphertext&, int, const GaloisKeys&, MemoryPoolHandle) const {
  refuse_scheme("rotate_rows");
}
void Evaluator::rotate_rows(const Ciphertext&, int, const GaloisKeys&, Ciphertext&, MemoryPoolHandle) const {
  refuse_scheme("rotate_rows");
}
void Evaluator::rotate_columns_inplace(Ciphertext&, const GaloisKeys&, MemoryPoolHandle) const {
  refuse_scheme("rotate_columns");
}
void Evaluator::rotate_columns(const Ciphertext&, const GaloisKeys&, Ciphertext&, MemoryPoolHandle) const {
  refuse_scheme("rotate_columns");
}
void Evaluator::transform_to_ntt_inplace(Plaintext& plain, parms_id_type parms_id,
                                         MemoryPoolHandle pool) const {
  transform_to_ntt(plain, parms_id, plain, std::move(pool));
}
void Evaluator::transform_to_ntt(const Plaintext& plain, parms_id_type, Plaintext&, MemoryPoolHandle) const {
  throw std::invalid_argument(plain.is_ntt_form() ? "plain is already in NTT form"
                                                  : "plain is not valid for encryption parameters");
}

}  // namespace seal
