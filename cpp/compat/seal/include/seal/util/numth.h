// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/modulus.h"

namespace seal::util {

/// Whether a modulus is a prime.
[[nodiscard]] inline bool is_prime(const Modulus& modulus) noexcept { return modulus.is_prime(); }

}  // namespace seal::util
