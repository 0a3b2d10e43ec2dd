// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/params/literal.hpp"

/// Range checks of `parameters::from_literal`, apart so that the construction stays readable.
namespace halocline::params {

/// Smallest terminal prime size: base conversion needs primes above 2^19 (backend/descriptors.hpp), and a
/// terminal prime may be half a bit below its nominal size.
inline constexpr double smallest_terminal_bits = 19.5;

/// Checks every field on its own and those relations that need no primes.
/// @throws invalid_argument naming the field, its value and the range
void check_literal(const literal& source);

/// Checks that the number of primes stays within what tables and kernels support.
/// @throws invalid_argument
void check_prime_count(const literal& source, unsigned terminals, unsigned mains);

}  // namespace halocline::params
