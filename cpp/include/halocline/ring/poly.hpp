// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "halocline/arith/window.hpp"
#include "halocline/memory/buffer.hpp"
#include "halocline/ring/home.hpp"

namespace halocline::backend {
struct limb_view;
}

namespace halocline::ring {

class context;

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
  [[nodiscard]] backend::limb_view special() const noexcept;
  /// Limbs modulo chain primes.
  [[nodiscard]] backend::limb_view chain() const noexcept;
  /// The non-empty ones of `special()` and `chain()`.
  [[nodiscard]] std::vector<backend::limb_view> views() const;
  /// Where its bytes are; nullptr for an empty polynomial.
  [[nodiscard]] const std::shared_ptr<const ring::home>& home() const noexcept { return home_.get(); }
  [[nodiscard]] const memory::buffer& data() const noexcept { return data_; }
  [[nodiscard]] std::uint32_t limb_count() const noexcept { return special_.count + chain_.count; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(data_); }

 private:
  home_handle home_;
  memory::buffer data_;
  arith::window special_;
  arith::window chain_;
  unsigned log_repeat_ = 0;
};

/// A polynomial over the chain primes of one level.
[[nodiscard]] poly make_poly(context& ring, arith::window chain, memory::object_class cls, const char* tag);

}  // namespace halocline::ring
