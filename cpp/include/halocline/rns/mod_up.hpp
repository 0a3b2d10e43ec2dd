// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halocline/ring/poly.hpp"
#include "halocline/rns/base_convert.hpp"

namespace halocline::rns {

/// The digits of one polynomial, each raised to the special primes and the whole chain window, in NTT form.
struct raised_digits {
  backend::window chain;               ///< window of the decomposed polynomial
  std::vector<std::uint32_t> numbers;  ///< key digit that each entry belongs to
  std::vector<ring::poly> digits;      ///< special window + chain; the digit's own limbs are copied
};

/// Splits `source` (NTT form, chain window of a level) into the key-switching digits of its parameters and
/// raises each to special primes x chain: ModUp of Han and Ki, "Better bootstrapping for approximate
/// homomorphic encryption", 2020, with centred digits. Cost for L limbs, K special primes, d digits: L
/// inverse NTTs, d base conversions, d (L + K) - L NTTs.
[[nodiscard]] raised_digits mod_up(ring::context& ring, base_converter& converter,
                                   const backend::limb_view& source);

}  // namespace halocline::rns
