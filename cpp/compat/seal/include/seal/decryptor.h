// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/memorymanager.h"
#include "seal/plaintext.h"
#include "seal/secretkey.h"
#include "seal/util/defines.h"

namespace seal {

/// Decrypts, on the host.
class Decryptor {
 public:
  /// @throws std::invalid_argument for parameters or a key that are not valid
  Decryptor(const SEALContext& context, const SecretKey& secret_key);
  Decryptor(const Decryptor& copy) = delete;
  Decryptor(Decryptor&& source) = delete;
  Decryptor& operator=(const Decryptor& assign) = delete;
  Decryptor& operator=(Decryptor&& assign) = delete;

  /// @throws std::invalid_argument for a ciphertext of other parameters, an empty one, or one in coefficient
  ///   form
  void decrypt(const Ciphertext& encrypted, Plaintext& destination);
  /// Of BFV and BGV. @throws std::logic_error always
  [[nodiscard]] int invariant_noise_budget(const Ciphertext& encrypted);

 private:
  SEALContext context_;
  SecretKey secret_key_;
};

}  // namespace seal
