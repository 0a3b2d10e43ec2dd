// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/memorymanager.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"

namespace seal {

namespace halocline_detail {
struct serializable_access;
}  // namespace halocline_detail

/// An object that can be saved only: half of it may be a seed, which makes files half as large. Loading the
/// file gives the whole object.
template <typename T>
class Serializable {
 public:
  Serializable() = delete;

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return object_.save_size(compr_mode);
  }
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return object_.save(stream, compr_mode);
  }
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return object_.save(out, size, compr_mode);
  }

 private:
  friend struct halocline_detail::serializable_access;
  explicit Serializable(T&& object) : object_(std::move(object)) {}

  T object_;
};

}  // namespace seal
