// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ring/sampler.hpp"
#include "halocline/seal/context.hpp"
#include "halocline/seal/objects.hpp"

namespace halocline::seal {

/// What needs a secret: keys, encryption and decryption for SEAL's parameter sets. Secrets are uniform
/// ternary, errors discrete Gaussian with standard deviation 3.2. Transforms run on the context's device;
/// all else, and every product with the secret key, in host memory. Temporary secrets are zeroed.
///
/// Residues are spans of words in SEAL's order [prime][coefficient], in NTT form; a secret key has all primes
/// of the parameter set. Not thread-safe.
class client {
 public:
  /// Both must outlive the client.
  client(context& of, ring::random_source& random) noexcept : ctx_(&of), random_(&random) {}

  /// A fresh secret key.
  /// @param to words of all primes
  void make_secret(std::span<std::uint64_t> to);
  /// The secret raised to a power, coefficient by coefficient of its NTT form.
  void make_power(std::span<const std::uint64_t> secret, std::uint64_t power, std::span<std::uint64_t> to);
  /// s(X^element).
  void apply_galois(std::span<const std::uint64_t> secret, std::uint64_t element,
                    std::span<std::uint64_t> to);

  /// An encryption of 0 modulo the first `primes` primes under a secret key: (-(a s + e), a) with `a` made of
  /// a fresh seed. `data` has both polynomials; drop the second one to write the seed in its place.
  [[nodiscard]] seal_format::ciphertext encrypt_zero_symmetric(std::span<const std::uint64_t> secret,
                                                               std::uint32_t primes, seal_format::seed& seed);
  /// The part for data prime `digit` of a key that switches from `from` to `secret`: an encryption of 0 over
  /// all primes, with P times `from` added modulo that prime.
  [[nodiscard]] seal_format::ciphertext make_switch_digit(std::span<const std::uint64_t> secret,
                                                          std::span<const std::uint64_t> from,
                                                          std::uint32_t digit, seal_format::seed& seed);
  /// An encryption of 0 modulo the first `primes` primes under a public key, on the device. As in SEAL it is
  /// made with one prime more, if there is one, and divided by it.
  /// @param key two polynomials with all primes
  [[nodiscard]] ciphertext encrypt_zero(const polynomials& key, std::uint32_t primes);
  /// c_0 + c_1 s + c_2 s^2 + ...
  /// @param words `size` polynomials modulo the first `primes` primes
  /// @param to the message, `primes` limbs
  void decrypt(std::span<const std::uint64_t> words, std::uint32_t size, std::uint32_t primes,
               std::span<const std::uint64_t> secret, std::span<std::uint64_t> to);

  /// Transforms limbs of the first primes to NTT form, or back. The device's copy is zeroed.
  void to_ntt(std::span<std::uint64_t> words);
  void from_ntt(std::span<std::uint64_t> words);

 private:
  enum class noise { ternary, gaussian };
  /// NTT of a fresh small polynomial, modulo the first `primes` primes.
  void sample(noise kind, std::uint32_t primes, std::span<std::uint64_t> to);
  /// The same, on the device.
  [[nodiscard]] polynomials sample_on_device(noise kind, std::uint32_t primes);
  void transform(std::span<std::uint64_t> words, bool forward);

  context* ctx_;
  ring::random_source* random_;
};

}  // namespace halocline::seal
