// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/galoiskeys.h"
#include "seal/memorymanager.h"
#include "seal/publickey.h"
#include "seal/relinkeys.h"
#include "seal/secretkey.h"
#include "seal/serializable.h"
#include "seal/util/defines.h"

namespace seal {

/// Makes keys. Those that are returned, as `Serializable`, can be saved only, with seeds in place of half of
/// the bytes.
class KeyGenerator {
 public:
  /// With a fresh secret key, or a given one.
  /// @throws std::invalid_argument for parameters or a key that are not valid
  KeyGenerator(const SEALContext& context);
  KeyGenerator(const SEALContext& context, const SecretKey& secret_key);
  KeyGenerator(const KeyGenerator& copy) = delete;
  KeyGenerator(KeyGenerator&& source) = delete;
  KeyGenerator& operator=(const KeyGenerator& assign) = delete;
  KeyGenerator& operator=(KeyGenerator&& assign) = delete;

  [[nodiscard]] const SecretKey& secret_key() const;
  void create_public_key(PublicKey& destination) const;
  [[nodiscard]] Serializable<PublicKey> create_public_key() const;

  /// For products of two ciphertexts of two polynomials.
  /// @throws std::logic_error when the parameters have no special prime; so do Galois keys
  void create_relin_keys(RelinKeys& destination);
  [[nodiscard]] Serializable<RelinKeys> create_relin_keys();

  /// For elements of the Galois group, odd numbers below 2 N; for steps of rotations; for steps of all powers
  /// of two in both directions and conjugation, of which every rotation can be composed. Step 0 stands for
  /// conjugation.
  /// @throws std::invalid_argument for elements or steps out of range
  void create_galois_keys(const std::vector<std::uint32_t>& galois_elts, GaloisKeys& destination);
  [[nodiscard]] Serializable<GaloisKeys> create_galois_keys(const std::vector<std::uint32_t>& galois_elts);
  void create_galois_keys(const std::vector<int>& steps, GaloisKeys& destination);
  [[nodiscard]] Serializable<GaloisKeys> create_galois_keys(const std::vector<int>& steps);
  void create_galois_keys(GaloisKeys& destination);
  [[nodiscard]] Serializable<GaloisKeys> create_galois_keys();

 private:
  [[nodiscard]] PublicKey make_public_key(bool keep_seed) const;
  [[nodiscard]] RelinKeys make_relin_keys(bool keep_seed) const;
  [[nodiscard]] GaloisKeys make_galois_keys(const std::vector<std::uint32_t>& elements, bool keep_seed) const;
  [[nodiscard]] std::vector<std::uint32_t> elements_of(const std::vector<int>& steps) const;
  [[nodiscard]] std::vector<std::uint32_t> all_elements() const;
  /// The key that switches from `from`, words over all primes.
  [[nodiscard]] std::vector<PublicKey> make_key(const std::uint64_t* from, bool keep_seed) const;
  void check_switching() const;

  SEALContext context_;
  SecretKey secret_key_;
};

}  // namespace seal
