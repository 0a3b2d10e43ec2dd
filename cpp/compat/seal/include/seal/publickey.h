// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/util/defines.h"

namespace seal {

/// Key for encryption: a ciphertext of 0 over all primes.
class PublicKey {
 public:
  PublicKey() = default;

  [[nodiscard]] Ciphertext& data() noexcept { return pk_; }
  [[nodiscard]] const Ciphertext& data() const noexcept { return pk_; }
  [[nodiscard]] parms_id_type& parms_id() noexcept { return pk_.parms_id(); }
  [[nodiscard]] const parms_id_type& parms_id() const noexcept { return pk_.parms_id(); }
  [[nodiscard]] MemoryPoolHandle pool() const noexcept { return pk_.pool(); }

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return pk_.save_size(compr_mode);
  }
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return pk_.save(stream, compr_mode);
  }
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return pk_.save(out, size, compr_mode);
  }
  std::streamoff unsafe_load(const SEALContext& context, std::istream& stream) {
    return pk_.unsafe_load(context, stream);
  }
  std::streamoff unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size) {
    return pk_.unsafe_load(context, in, size);
  }
  std::streamoff load(const SEALContext& context, std::istream& stream);
  std::streamoff load(const SEALContext& context, const seal_byte* in, std::size_t size);

 private:
  Ciphertext pk_;
};

}  // namespace seal
