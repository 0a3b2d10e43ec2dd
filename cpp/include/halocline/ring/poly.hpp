// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ring/context.hpp"

namespace halocline::ring {

/// One polynomial in residue form: limbs modulo a window of special primes followed by limbs modulo a window
/// of the chain, in one buffer. Either window may be empty. Move-only. The type does not record whether the
/// limbs are coefficients or NTT points; everything that outlives an operation is in NTT form.
class poly {
 public:
  poly() = default;
  /// Allocates limbs for both windows, uninitialised. With `log_repeat` its views are repeated ones
  /// (`limb_view`) and so much smaller.
  poly(context& ring, arith::window special, arith::window chain, memory::object_class cls, const char* tag,
       bool wipe = false, unsigned log_repeat = 0);

  /// Limbs modulo special primes; count 0 when there are none.
  [[nodiscard]] backend::limb_view special() const noexcept { return {&data_, 0, special_, log_repeat_}; }
  /// Limbs modulo chain primes.
  [[nodiscard]] backend::limb_view chain() const noexcept {
    return {&data_, special_.count, chain_, log_repeat_};
  }
  /// The non-empty ones of `special()` and `chain()`.
  [[nodiscard]] std::vector<backend::limb_view> views() const;
  [[nodiscard]] const memory::buffer& data() const noexcept { return data_; }
  [[nodiscard]] std::uint32_t limb_count() const noexcept { return special_.count + chain_.count; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(data_); }

 private:
  memory::buffer data_;
  arith::window special_;
  arith::window chain_;
  unsigned log_repeat_ = 0;
};

/// A polynomial over the chain primes of one level.
[[nodiscard]] poly make_poly(context& ring, arith::window chain, memory::object_class cls, const char* tag);

}  // namespace halocline::ring
