// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ring/home.hpp"
#include "halocline/seal/context.hpp"

namespace halocline::seal {

/// Polynomials modulo the first primes of a parameter set, in NTT form, in one buffer and in SEAL's order
/// [polynomial][prime][coefficient]. Move-only.
class polynomials {
 public:
  /// Uninitialised.
  /// @param wipe zero the words when they are freed
  polynomials(context& of, std::uint32_t size, std::uint32_t primes, memory::object_class cls,
              const char* tag, bool wipe = false);

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t primes() const noexcept { return primes_; }
  [[nodiscard]] const memory::buffer& data() const noexcept { return data_; }
  /// Polynomial i; valid while this object stays where it is.
  [[nodiscard]] backend::limb_view part(std::uint32_t i) const noexcept {
    return {&data_, i * primes_, {0, primes_}};
  }
  /// Whether it was made with this context.
  [[nodiscard]] bool is_of(const context& other) const noexcept;

 private:
  ring::home_handle home_;
  memory::buffer data_;
  std::uint32_t size_;
  std::uint32_t primes_;
};

/// A ciphertext on a device, with the scale that SEAL would give it.
struct ciphertext {
  polynomials parts;  ///< 2 to 16
  double scale = 1.0;
};

/// A matrix of ciphertexts of one level and scale in one buffer, row by row.
struct ciphertext_matrix {
  polynomials parts;  ///< rows * columns * size
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t size = 2;  ///< polynomials of an entry: 2, or 3 of products
  double scale = 1.0;
};

/// An encoded message on a device.
struct plaintext {
  polynomials part;  ///< 1
  double scale = 1.0;
};

/// The part of a key for one data prime: the two polynomials of SEAL's, over all primes, in Montgomery form.
struct switch_digit {
  polynomials b;
  polynomials a;
};

/// One entry of relinearization or Galois keys.
using switch_key = std::vector<switch_digit>;

/// Keys by index: power - 2 of the secret, or Galois element.
struct switch_key_set {
  std::map<std::uint64_t, switch_key> keys;
};

/// A ciphertext and keys without a secret, for measurements: uniform residues that depend on the seed and the
/// primes only. `indices` are those of `switch_key_set`.
[[nodiscard]] ciphertext uniform_ciphertext(context& on, std::uint32_t size, std::uint32_t primes,
                                            double scale, std::uint32_t seed);
[[nodiscard]] switch_key_set uniform_keys(context& on, const std::vector<std::uint64_t>& indices,
                                          std::uint32_t seed);

/// From files, and back. @throws as `modulus_chain::check`; out_of_memory
[[nodiscard]] ciphertext load(context& to, const seal_format::ciphertext& from);
[[nodiscard]] plaintext load(context& to, const seal_format::plaintext& from);
[[nodiscard]] switch_key_set load_relin_keys(context& to, const seal_format::switch_keys& from);
[[nodiscard]] switch_key_set load_galois_keys(context& to, const seal_format::switch_keys& from);
[[nodiscard]] seal_format::ciphertext store(context& of, const ciphertext& from);
[[nodiscard]] seal_format::plaintext store(context& of, const plaintext& from);

/// From and to words of host memory, in the same order and of the same number.
[[nodiscard]] polynomials load_words(context& to, std::span<const std::uint64_t> words, std::uint32_t size,
                                     std::uint32_t primes, memory::object_class cls, const char* tag);
void store_words(context& of, const polynomials& from, std::span<std::uint64_t> to);
/// A part of a key from the words of its two polynomials, over all primes.
[[nodiscard]] switch_digit load_digit(context& to, std::span<const std::uint64_t> words);

}  // namespace halocline::seal
