// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/seal_format/objects.hpp"

namespace halocline::seal_format {

/// The identifier of a set of primes.
[[nodiscard]] id_words parms_id(const parameters& of);

/// A CKKS parameter set and those that follow from it: SEAL drops the special prime first and then one prime
/// after the other. With one prime only, it serves data and keys, and keys cannot be switched.
class modulus_chain {
 public:
  /// @throws invalid_argument unless the scheme is CKKS, n a power of two from 2 to 131072, the plain modulus
  ///   0, and the primes 1 to 256 different odd numbers of at most 61 bits that are 1 modulo 2 n. That they
  ///   are prime is not checked here.
  explicit modulus_chain(parameters top);

  [[nodiscard]] const parameters& top() const noexcept { return top_; }
  /// Ring degree.
  [[nodiscard]] std::uint64_t n() const noexcept { return top_.n; }
  /// All primes, and those of fresh ciphertexts.
  [[nodiscard]] std::uint32_t key_primes() const noexcept {
    return static_cast<std::uint32_t>(top_.primes.size());
  }
  [[nodiscard]] std::uint32_t data_primes() const noexcept {
    return key_primes() == 1 ? 1 : key_primes() - 1;
  }
  /// Identifier of the first `count` primes.
  [[nodiscard]] const id_words& id(std::uint32_t count) const { return ids_.at(count - 1); }
  /// Number of primes that an identifier names.
  /// @throws invalid_argument for one of another parameter set
  [[nodiscard]] std::uint32_t primes_of(const id_words& id) const;

  /// Each checks that an object of a file belongs here: identifier, sizes, NTT form, scale, and that every
  /// residue is below its prime. @throws invalid_argument for an object of another parameter set,
  /// corrupt_data for one whose parts do not agree
  void check(const ciphertext& object) const;
  void check(const plaintext& object) const;
  void check_secret_key(const plaintext& key) const;
  void check_public_key(const ciphertext& key) const;
  /// @param galois whether they are Galois keys, of which there are up to n; relinearization keys: up to 14
  void check(const switch_keys& object, bool galois) const;

  /// Replaces a seed by the polynomial that it stands for; nothing to do without one.
  void expand(ciphertext& object) const;
  void expand(switch_keys& object) const;

 private:
  void check_residues(const std::vector<std::uint64_t>& data, std::uint32_t primes, const char* what) const;
  void check_polynomials(const ciphertext& object, std::uint32_t primes, const char* what) const;

  parameters top_;
  std::vector<id_words> ids_;
};

}  // namespace halocline::seal_format
