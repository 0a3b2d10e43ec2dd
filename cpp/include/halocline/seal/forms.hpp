// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/seal/objects.hpp"

namespace halocline::seal {

/// Polynomials in NTT form as coefficients, and back: for programs that read coefficients. All operations on
/// ciphertexts expect the NTT form. @throws invalid_argument for polynomials of another context
[[nodiscard]] polynomials to_coefficients(context& of, const polynomials& a);
[[nodiscard]] polynomials to_points(context& of, const polynomials& a);

/// Digits 1 and -1 of the non-adjacent form of `steps`, times their powers of two, lowest first (Reitwiesner,
/// "Binary arithmetic", 1960): the rotations of which SEAL composes one without a key of its own. Of these,
/// N/2 steps are none.
[[nodiscard]] std::vector<std::int64_t> rotation_digits(std::int64_t steps);

}  // namespace halocline::seal
