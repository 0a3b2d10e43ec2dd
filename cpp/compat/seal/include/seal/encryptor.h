// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/memorymanager.h"
#include "seal/plaintext.h"
#include "seal/publickey.h"
#include "seal/secretkey.h"
#include "seal/serializable.h"
#include "seal/util/defines.h"

namespace seal {

/// Encrypts plaintexts under a public key, or under the secret key (`_symmetric`). The latter have less
/// noise, and as `Serializable` half the bytes in files.
///
/// All throw std::logic_error without the key that they need, std::invalid_argument for plaintexts or a
/// parms_id of other parameters and for no pool. Encryption under one key by several threads is safe.
class Encryptor {
 public:
  /// @throws std::invalid_argument for parameters or keys that are not valid
  Encryptor(const SEALContext& context, const PublicKey& public_key);
  Encryptor(const SEALContext& context, const SecretKey& secret_key);
  Encryptor(const SEALContext& context, const PublicKey& public_key, const SecretKey& secret_key);
  Encryptor(const Encryptor& copy) = delete;
  Encryptor(Encryptor&& source) = delete;
  Encryptor& operator=(const Encryptor& assign) = delete;
  Encryptor& operator=(Encryptor&& assign) = delete;

  void set_public_key(const PublicKey& public_key);
  void set_secret_key(const SecretKey& secret_key);

  void encrypt(const Plaintext& plain, Ciphertext& destination,
               MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  [[nodiscard]] Serializable<Ciphertext> encrypt(const Plaintext& plain,
                                                 MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  /// 0 at given parameters, or at the first data parameters; with scale 1.
  void encrypt_zero(parms_id_type parms_id, Ciphertext& destination,
                    MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void encrypt_zero(Ciphertext& destination, MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encrypt_zero(context_.first_parms_id(), destination, std::move(pool));
  }
  [[nodiscard]] Serializable<Ciphertext> encrypt_zero(parms_id_type parms_id,
                                                      MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  [[nodiscard]] Serializable<Ciphertext> encrypt_zero(
      MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    return encrypt_zero(context_.first_parms_id(), std::move(pool));
  }

  void encrypt_symmetric(const Plaintext& plain, Ciphertext& destination,
                         MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  [[nodiscard]] Serializable<Ciphertext> encrypt_symmetric(
      const Plaintext& plain, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void encrypt_zero_symmetric(parms_id_type parms_id, Ciphertext& destination,
                              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void encrypt_zero_symmetric(Ciphertext& destination,
                              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encrypt_zero_symmetric(context_.first_parms_id(), destination, std::move(pool));
  }
  [[nodiscard]] Serializable<Ciphertext> encrypt_zero_symmetric(
      parms_id_type parms_id, MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  [[nodiscard]] Serializable<Ciphertext> encrypt_zero_symmetric(
      MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    return encrypt_zero_symmetric(context_.first_parms_id(), std::move(pool));
  }

 private:
  void zero_public(parms_id_type parms_id, Ciphertext& destination) const;
  void zero_symmetric(parms_id_type parms_id, bool keep_seed, Ciphertext& destination) const;
  void add_message(const Plaintext& plain, Ciphertext& destination) const;

  SEALContext context_;
  PublicKey public_key_;
  SecretKey secret_key_;
};

}  // namespace seal
