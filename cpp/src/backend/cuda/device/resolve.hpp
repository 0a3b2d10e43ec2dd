// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/modulus.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend::cuda {

/// Turns views of one step into device pointers.
template <typename WordT>
class resolver {
 public:
  resolver(const ring_tables& ring, const memory::access& at) : ring_(ring), at_(at) {}

  [[nodiscard]] std::size_t n() const noexcept { return ring_.n(); }
  [[nodiscard]] unsigned log_n() const noexcept { return ring_.log_n; }
  [[nodiscard]] const ring_tables& ring() const noexcept { return ring_; }
  /// First word of limb `i` of a view.
  [[nodiscard]] WordT* limb(const limb_view& view, std::size_t i = 0) const noexcept {
    return reinterpret_cast<WordT*>(at_.pointer(*view.data)) +
           (view.limb + i) * (ring_.n() >> view.log_repeat);
  }
  template <typename T>
  [[nodiscard]] const T* raw(const memory::buffer& data) const noexcept {
    return reinterpret_cast<const T*>(at_.pointer(data));
  }
  /// Constants of all primes, on the device.
  [[nodiscard]] const arith::modulus<WordT>* moduli() const noexcept {
    return raw<arith::modulus<WordT>>(ring_.moduli);
  }
  /// Powers of roots of all primes, on the device (see `ring_tables::roots`).
  [[nodiscard]] const WordT* roots() const noexcept { return raw<WordT>(ring_.roots); }

 private:
  const ring_tables& ring_;
  const memory::access& at_;
};

}  // namespace halocline::backend::cuda
