// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/ckks/plaintext.hpp"

namespace halocline::ckks {

/// Encrypts plaintexts under the secret key (seeded, less noise) or the public key.
class encryptor {
 public:
  encryptor(context& ctx, ring::random_source& random) : ctx_(ctx), random_(random) {}

  /// (c_0, c_1) = (-a s + m + e, a) with a expanded from a fresh seed. One NTT per limb.
  [[nodiscard]] ciphertext encrypt(const plaintext& message, const secret_key& secret);
  /// (c_0, c_1) = u (b, a) + (m + e_0, e_1) with ternary u. Three NTTs per limb.
  [[nodiscard]] ciphertext encrypt(const plaintext& message, const public_key& key);

 private:
  context& ctx_;
  ring::random_source& random_;
};

}  // namespace halocline::ckks
