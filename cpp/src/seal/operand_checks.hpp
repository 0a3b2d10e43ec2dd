// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/seal/context.hpp"
#include "halocline/seal/objects.hpp"

/// Checks of operands; `what` is the operation.
namespace halocline::seal::detail {

/// @throws invalid_argument for an object of another context
void check_operand(const context& on, const polynomials& a, const char* what);
/// @throws scale_mismatch for scales that differ by more than rounding
void check_scales(double a, double b, const char* what);
/// @throws scale_mismatch for a scale that is not below the modulus of the first `primes` primes
void check_scale(const context& on, double scale, std::uint32_t primes, const char* what);
/// @throws level_exhausted with one prime
void check_lower_level(std::uint32_t primes, const char* what);

}  // namespace halocline::seal::detail
