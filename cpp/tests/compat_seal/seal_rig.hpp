// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "seal/seal.h"

/// A client and a server in one, for tests of operations. Parameters are small and not secure.
namespace seal::test {

[[nodiscard]] inline EncryptionParameters ckks_parameters(std::size_t n, const std::vector<int>& bits) {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(n);
  parms.set_coeff_modulus(CoeffModulus::Create(n, bits));
  return parms;
}

/// Parameters of another scheme.
[[nodiscard]] inline SEALContext bfv_context() {
  EncryptionParameters parms(scheme_type::bfv);
  parms.set_poly_modulus_degree(64);
  parms.set_coeff_modulus(CoeffModulus::Create(64, {40, 40}));
  parms.set_plain_modulus(257);
  return SEALContext(parms, true, sec_level_type::none);
}

using slots = std::vector<std::complex<double>>;

struct rig {
  SEALContext context;
  CKKSEncoder encoder{context};
  KeyGenerator generator{context};
  SecretKey secret = generator.secret_key();
  PublicKey public_key = make_public_key();
  RelinKeys relin = make_relin_keys();
  Encryptor encryptor{context, public_key, secret};
  Decryptor decryptor{context, secret};
  Evaluator evaluator{context};
  std::mt19937_64 random{7};

  explicit rig(std::size_t n = 64, const std::vector<int>& bits = {50, 40, 40, 50})
      : context(ckks_parameters(n, bits), true, sec_level_type::none) {}

  /// Random slots with parts in [-1, 1).
  [[nodiscard]] slots values() {
    std::uniform_real_distribution<double> part(-1.0, 1.0);
    slots made(encoder.slot_count());
    for (std::complex<double>& each : made) each = {part(random), part(random)};
    return made;
  }
  [[nodiscard]] Plaintext encode(const slots& message, double scale = 0x1p30) const {
    Plaintext made;
    encoder.encode(message, scale, made);
    return made;
  }
  /// Under the public key; under the secret one in rings so small that the ternary factor of public
  /// encryption may be 0 (once in 3^N), which makes the result transparent.
  [[nodiscard]] Ciphertext encrypt(const slots& message, double scale = 0x1p30) const {
    Ciphertext made;
    encoder.slot_count() < 16 ? encryptor.encrypt_symmetric(encode(message, scale), made)
                              : encryptor.encrypt(encode(message, scale), made);
    return made;
  }
  [[nodiscard]] slots decrypt(const Ciphertext& from) {
    Plaintext plain;
    decryptor.decrypt(from, plain);
    slots made;
    encoder.decode(plain, made);
    return made;
  }
  [[nodiscard]] GaloisKeys galois() {
    GaloisKeys made;
    generator.create_galois_keys(made);
    return made;
  }

 private:
  [[nodiscard]] PublicKey make_public_key() {
    PublicKey made;
    generator.create_public_key(made);
    return made;
  }
  [[nodiscard]] RelinKeys make_relin_keys() {
    RelinKeys made;
    if (context.using_keyswitching()) generator.create_relin_keys(made);
    return made;
  }
};

/// The largest distance of two messages.
[[nodiscard]] inline double distance(const slots& a, const slots& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double each = std::abs(a[i] - b[i]);
    if (!(each <= most)) most = each;
  }
  return most;
}

/// A message, slot by slot.
template <typename FunctionT>
[[nodiscard]] slots map(const slots& a, FunctionT function) {
  slots made;
  for (const std::complex<double>& each : a) made.push_back(function(each));
  return made;
}
template <typename FunctionT>
[[nodiscard]] slots map(const slots& a, const slots& b, FunctionT function) {
  slots made;
  for (std::size_t i = 0; i < a.size(); ++i) made.push_back(function(a[i], b[i]));
  return made;
}
[[nodiscard]] inline slots rotated(const slots& a, int steps) {
  const auto count = static_cast<int>(a.size());
  slots made;
  for (int i = 0; i < count; ++i)
    made.push_back(a[static_cast<std::size_t>(((i + steps) % count + count) % count)]);
  return made;
}

/// All words of an object.
template <typename ObjectT>
[[nodiscard]] std::vector<std::uint64_t> words_of(const ObjectT& object) {
  return {object.dyn_array().cbegin(), object.dyn_array().cend()};
}

}  // namespace seal::test
