// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/galoiskeys.h"
#include "seal/memorymanager.h"
#include "seal/plaintext.h"
#include "seal/relinkeys.h"
#include "seal/util/defines.h"

namespace seal {

/// Computes with ciphertexts: each operation in place and with a destination, which may be an operand.
/// Residues of results are those that SEAL computes from the same ciphertexts and keys.
///
/// Operations run on the device with which an operand is marked (`Ciphertext::gpu`), or on that of
/// HALOCLINE_SEAL_DEVICE (the CPU unless set), and their results are marked too. Several threads may use one
/// evaluator, and common operands that none modifies.
///
/// All throw std::invalid_argument for objects of other parameters or other parms_id, scales that differ
/// where they must not, a result whose scale is out of bounds, or no pool; std::logic_error for a transparent
/// result (one that is not encrypted at all: see `Ciphertext::is_transparent`). On a GPU only differences of
/// an object with itself and products with zero plaintexts are recognised as transparent, because looking at
/// every result would wait for the device.
class Evaluator {
 public:
  /// @throws std::invalid_argument unless the context's parameters are valid
  Evaluator(const SEALContext& context);

  /// -a.
  void negate_inplace(Ciphertext& encrypted) const;
  void negate(const Ciphertext& encrypted, Ciphertext& destination) const;
  /// Operands may have different numbers of polynomials, and must have equal scales.
  void add_inplace(Ciphertext& encrypted1, const Ciphertext& encrypted2) const;
  void add(const Ciphertext& encrypted1, const Ciphertext& encrypted2, Ciphertext& destination) const;
  /// @throws std::invalid_argument also for an empty list, or one that has the destination
  void add_many(const std::vector<Ciphertext>& encrypteds, Ciphertext& destination) const;
  void sub_inplace(Ciphertext& encrypted1, const Ciphertext& encrypted2) const;
  void sub(const Ciphertext& encrypted1, const Ciphertext& encrypted2, Ciphertext& destination) const;
  /// The product has size1 + size2 - 1 polynomials, 16 at most. Scales are multiplied.
  void multiply_inplace(Ciphertext& encrypted1, const Ciphertext& encrypted2,
                        MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void multiply(const Ciphertext& encrypted1, const Ciphertext& encrypted2, Ciphertext& destination,
                MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void square_inplace(Ciphertext& encrypted, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void square(const Ciphertext& encrypted, Ciphertext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// To two polynomials. @throws std::invalid_argument also without the keys that this takes
  void relinearize_inplace(Ciphertext& encrypted, const RelinKeys& relin_keys,
                           MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void relinearize(const Ciphertext& encrypted, const RelinKeys& relin_keys, Ciphertext& destination,
                   MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// Drops the last prime, or all those behind `parms_id`; the scale stays.
  /// @throws std::invalid_argument also at the end of the chain, or for a parms_id with more primes
  void mod_switch_to_next_inplace(Ciphertext& encrypted,
                                  MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_switch_to_next(const Ciphertext& encrypted, Ciphertext& destination,
                          MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_switch_to_next_inplace(Plaintext& plain) const;
  void mod_switch_to_next(const Plaintext& plain, Plaintext& destination) const;
  void mod_switch_to_inplace(Ciphertext& encrypted, parms_id_type parms_id,
                             MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_switch_to(const Ciphertext& encrypted, parms_id_type parms_id, Ciphertext& destination,
                     MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_switch_to_inplace(Plaintext& plain, parms_id_type parms_id) const;
  void mod_switch_to(const Plaintext& plain, parms_id_type parms_id, Plaintext& destination) const;
  /// Divides by the last prime and drops it, or by all those behind `parms_id`; the scale too.
  void rescale_to_next_inplace(Ciphertext& encrypted, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rescale_to_next(const Ciphertext& encrypted, Ciphertext& destination,
                       MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rescale_to_inplace(Ciphertext& encrypted, parms_id_type parms_id,
                          MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rescale_to(const Ciphertext& encrypted, parms_id_type parms_id, Ciphertext& destination,
                  MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// The plaintext has the parms_id of the ciphertext, and for sums its scale.
  void add_plain_inplace(Ciphertext& encrypted, const Plaintext& plain,
                         MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void add_plain(const Ciphertext& encrypted, const Plaintext& plain, Ciphertext& destination,
                 MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void sub_plain_inplace(Ciphertext& encrypted, const Plaintext& plain,
                         MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void sub_plain(const Ciphertext& encrypted, const Plaintext& plain, Ciphertext& destination,
                 MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void multiply_plain_inplace(Ciphertext& encrypted, const Plaintext& plain,
                              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void multiply_plain(const Ciphertext& encrypted, const Plaintext& plain, Ciphertext& destination,
                      MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// Between NTT form, which CKKS has, and coefficients.
  void transform_to_ntt_inplace(Ciphertext& encrypted) const;
  void transform_to_ntt(const Ciphertext& encrypted, Ciphertext& destination) const;
  void transform_from_ntt_inplace(Ciphertext& encrypted) const;
  void transform_from_ntt(const Ciphertext& encrypted, Ciphertext& destination) const;
  /// X -> X^galois_elt, of a ciphertext of two polynomials.
  /// @throws std::invalid_argument also without the key
  void apply_galois_inplace(Ciphertext& encrypted, std::uint32_t galois_elt, const GaloisKeys& galois_keys,
                            MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void apply_galois(const Ciphertext& encrypted, std::uint32_t galois_elt, const GaloisKeys& galois_keys,
                    Ciphertext& destination, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// Rotates slots to the left by `steps`, to the right by negative ones; |steps| < N/2. Without a key for
  /// the steps themselves, one rotation for each digit of their non-adjacent form.
  void rotate_vector_inplace(Ciphertext& encrypted, int steps, const GaloisKeys& galois_keys,
                             MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rotate_vector(const Ciphertext& encrypted, int steps, const GaloisKeys& galois_keys,
                     Ciphertext& destination, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void complex_conjugate_inplace(Ciphertext& encrypted, const GaloisKeys& galois_keys,
                                 MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void complex_conjugate(const Ciphertext& encrypted, const GaloisKeys& galois_keys, Ciphertext& destination,
                         MemoryPoolHandle pool = MemoryManager::GetPool()) const;

  /// Of BFV and BGV.
  /// @throws std::logic_error always, but for exponent 0 (std::invalid_argument) and 1 (nothing to do)
  void multiply_many(const std::vector<Ciphertext>& encrypteds, const RelinKeys& relin_keys,
                     Ciphertext& destination, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void exponentiate_inplace(Ciphertext& encrypted, std::uint64_t exponent, const RelinKeys& relin_keys,
                            MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void exponentiate(const Ciphertext& encrypted, std::uint64_t exponent, const RelinKeys& relin_keys,
                    Ciphertext& destination, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// Of BFV and BGV. @throws std::logic_error always
  void mod_reduce_to_next_inplace(Ciphertext& encrypted,
                                  MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_reduce_to_next(const Ciphertext& encrypted, Ciphertext& destination,
                          MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_reduce_to_inplace(Ciphertext& encrypted, parms_id_type parms_id,
                             MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void mod_reduce_to(const Ciphertext& encrypted, parms_id_type parms_id, Ciphertext& destination,
                     MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rotate_rows_inplace(Ciphertext& encrypted, int steps, const GaloisKeys& galois_keys,
                           MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rotate_rows(const Ciphertext& encrypted, int steps, const GaloisKeys& galois_keys,
                   Ciphertext& destination, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rotate_columns_inplace(Ciphertext& encrypted, const GaloisKeys& galois_keys,
                              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void rotate_columns(const Ciphertext& encrypted, const GaloisKeys& galois_keys, Ciphertext& destination,
                      MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// Of plaintexts in coefficient form, which CKKS has none of. @throws std::invalid_argument always
  void transform_to_ntt_inplace(Plaintext& plain, parms_id_type parms_id,
                                MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void transform_to_ntt(const Plaintext& plain, parms_id_type parms_id, Plaintext& destination_ntt,
                        MemoryPoolHandle pool = MemoryManager::GetPool()) const;

 private:
  SEALContext context_;
};

}  // namespace seal
