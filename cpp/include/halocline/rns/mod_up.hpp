// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ring/poly.hpp"
#include "halocline/rns/base_convert.hpp"

namespace halocline::rns {

/// What the raised limbs of digits hold.
enum class digit_form : std::uint8_t {
  points,        ///< NTT form
  coefficients,  ///< for one product with a key, which transforms them and leaves nothing of meaning in them
};

/// The digits of one polynomial, each raised to the special primes and the whole chain window. A digit's own
/// limbs are those of the polynomial itself, in NTT form, and are not copied, so the polynomial must outlive
/// this.
struct raised_digits {
  arith::window chain;                 ///< window of the decomposed polynomial
  backend::limb_view source;           ///< the decomposed polynomial
  std::vector<std::uint32_t> numbers;  ///< key digit that each entry belongs to
  std::vector<arith::window> runs;     ///< own primes of each entry; together they are `chain`
  std::vector<ring::poly> digits;      ///< special window + chain, without meaning on the own primes
  digit_form form = digit_form::points;

  /// Limbs of entry i modulo the primes of `runs[run]`.
  [[nodiscard]] backend::limb_view at(std::size_t i, std::size_t run) const noexcept {
    return i == run ? source.slice(runs[run]) : digits[i].chain().slice(runs[run]);
  }
};

/// A key-switching digit that has primes in a chain window.
struct digit_run {
  std::uint32_t number;  ///< of the digit
  arith::window primes;  ///< its primes that are in the window
};

/// The digits of a chain window, in order.
[[nodiscard]] std::vector<digit_run> digits_of(const ring::context& ring, arith::window chain);

/// Coefficients of polynomials in NTT form, in one call of the backend. @param tag of their buffers
[[nodiscard]] std::vector<ring::poly> to_coefficients(ring::context& ring,
                                                      std::span<const backend::limb_view> sources,
                                                      const char* tag = "mod_up.coefficients");

/// Splits `source` (NTT form, chain window of a level) into the key-switching digits of its parameters and
/// raises each to special primes x chain: ModUp of Han and Ki, "Better bootstrapping for approximate
/// homomorphic encryption", 2020, with centred digits. Cost for L limbs, K special primes, d digits: L
/// inverse NTTs, d base conversions, d (L + K) - L NTTs, which are left to the product with a key where the
/// digits stay in coefficient form.
[[nodiscard]] raised_digits mod_up(ring::context& ring, base_converter& converter,
                                   const backend::limb_view& source);
/// The same of several polynomials of one chain window, in joined calls of the backend.
/// @throws invalid_argument for none, and for different windows
[[nodiscard]] std::vector<raised_digits> mod_up(ring::context& ring, base_converter& converter,
                                                std::span<const backend::limb_view> sources,
                                                digit_form form = digit_form::points);

}  // namespace halocline::rns
