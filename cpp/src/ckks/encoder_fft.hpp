// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halocline::ckks {

/// Table with which the backend operation `slot_transform` goes between the n complex slots and the 2n real
/// coefficients a_0 .. a_{2n-1} of a polynomial in Y, Y^(2n) = -1. Slot k is the value at zeta^(g^k), zeta =
/// exp(2 pi i / 4n), g the Galois generator. Its bytes are those of `arith/slot_fft.hpp`.
///
/// At every point x = zeta^e with e = 1 mod 4, x^n = i, so the real polynomial has the value of the complex
/// polynomial C(x) = sum_{j<n} (a_j + i a_{j+n}) x^j modulo x^n - i. That modulus splits like in a
/// number-theoretic transform, x^m - s^2 = (x^(m/2) - s)(x^(m/2) + s), down to x - zeta^(1 + 4 bitrev(p)) in
/// place p. A slot whose exponent is 3 mod 4 (generator 3 has them) is the conjugate of the value at the
/// negated exponent.
/// @param slots n, a power of two
/// @param generator g, 3 or 5
[[nodiscard]] std::vector<std::byte> make_slot_table(std::uint32_t slots, unsigned generator);

}  // namespace halocline::ckks
