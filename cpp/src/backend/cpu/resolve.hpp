// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_set.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend::cpu {

/// Turns views of one step into pointers and prime indices into constants.
template <typename WordT>
class resolver {
 public:
  resolver(const ring_tables& ring, const memory::access& at)
      : at_(at),
        n_(ring.n()),
        log_n_(ring.log_n),
        moduli_(ring.moduli ? reinterpret_cast<const arith::modulus<WordT>*>(at.pointer(ring.moduli))
                            : nullptr),
        roots_(ring.roots ? reinterpret_cast<const WordT*>(at.pointer(ring.roots)) : nullptr) {}

  [[nodiscard]] std::size_t n() const noexcept { return n_; }

  /// First word of limb `i` of a view.
  [[nodiscard]] WordT* limb(const limb_view& view, std::size_t i) const noexcept {
    return reinterpret_cast<WordT*>(at_.pointer(*view.data)) + (view.limb + i) * (n_ >> view.log_repeat);
  }
  /// First word of the limb of `prime` in a key buffer (limb i belongs to prime i).
  [[nodiscard]] const WordT* key_limb(const memory::buffer& key, std::uint32_t prime) const noexcept {
    return reinterpret_cast<const WordT*>(at_.pointer(key)) + prime * n_;
  }
  template <typename T>
  [[nodiscard]] const T* raw(const memory::buffer& data) const noexcept {
    return reinterpret_cast<const T*>(at_.pointer(data));
  }
  [[nodiscard]] const arith::modulus<WordT>& modulus(std::uint32_t prime) const noexcept {
    return moduli_[prime];
  }
  [[nodiscard]] prime_tables<WordT> tables(std::uint32_t prime) const noexcept {
    const WordT* const first = roots_ + 4 * static_cast<std::size_t>(prime) * n_;
    return {moduli_ + prime, first, first + n_, first + 2 * n_, first + 3 * n_, log_n_};
  }

 private:
  const memory::access& at_;
  std::size_t n_;
  unsigned log_n_;
  const arith::modulus<WordT>* moduli_;
  const WordT* roots_;
};

}  // namespace halocline::backend::cpu
