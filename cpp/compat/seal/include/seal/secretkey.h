// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/plaintext.h"
#include "seal/util/defines.h"

namespace seal {

/// The secret: a polynomial over all primes in NTT form. Its memory is zeroed before it is given back.
class SecretKey {
 public:
  SecretKey() : sk_(MemoryManager::GetPool(mm_prof_opt::mm_force_new, true)) {}
  SecretKey(const SecretKey& copy) : sk_(copy.sk_, MemoryManager::GetPool(mm_prof_opt::mm_force_new, true)) {}
  SecretKey(SecretKey&& source) = default;
  SecretKey& operator=(const SecretKey& assign) {
    if (this != &assign) *this = SecretKey(assign);
    return *this;
  }
  SecretKey& operator=(SecretKey&& assign) = default;

  [[nodiscard]] Plaintext& data() noexcept { return sk_; }
  [[nodiscard]] const Plaintext& data() const noexcept { return sk_; }
  [[nodiscard]] parms_id_type& parms_id() noexcept { return sk_.parms_id(); }
  [[nodiscard]] const parms_id_type& parms_id() const noexcept { return sk_.parms_id(); }
  [[nodiscard]] MemoryPoolHandle pool() const noexcept { return sk_.pool(); }

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return sk_.save_size(compr_mode);
  }
  /// Buffers are zeroed afterwards; the file is the program's to protect.
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff unsafe_load(const SEALContext& context, std::istream& stream);
  std::streamoff unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size);
  std::streamoff load(const SEALContext& context, std::istream& stream);
  std::streamoff load(const SEALContext& context, const seal_byte* in, std::size_t size);

 private:
  Plaintext sk_;
};

}  // namespace seal
