// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halocline/pir/stages.hpp"

/// What the stages of a query share.
namespace halocline::pir::detail {

/// A gadget as operations name it.
[[nodiscard]] constexpr backend::digit_split split_of(const gadget& of) noexcept {
  return {of.digits, of.base_bits};
}

/// Digits of a polynomial: products with rows have as many terms.
[[nodiscard]] inline std::uint32_t digits_of(const context& ctx, const gadget& of) noexcept {
  return ctx.limbs() * of.digits;
}

/// Scratch for polynomials, one after the other.
[[nodiscard]] memory::buffer make_polynomials(context& ctx, std::size_t count, const char* tag);
/// The array of these, from number `first` on.
[[nodiscard]] backend::poly_array polynomials(const context& ctx, const memory::buffer& data,
                                              std::size_t first = 0) noexcept;

/// Polynomials of which digits are wanted.
struct digit_task {
  backend::poly_array digits;        ///< result: digits in NTT form
  backend::poly_array coefficients;  ///< scratch: as many polynomials as src; may be src
  backend::poly_array src;           ///< NTT form
  std::uint32_t count = 0;           ///< of src
};
/// `array_intt`, `split_digits` and `array_ntt` of all tasks.
void make_digits(context& ctx, std::span<const digit_task> tasks, const gadget& of);

/// The fusion of a level: the last entry for those beyond the end.
/// @throws invalid_argument for no entries
[[nodiscard]] fusion fusion_of(std::span<const fusion> levels, unsigned level);

}  // namespace halocline::pir::detail
