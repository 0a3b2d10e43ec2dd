// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seal::detail {

/// A row of `CoeffModulus::MaxBitCount` and `CoeffModulus::BFVDefault`.
struct default_row {
  std::size_t degree;
  int security;  ///< 128, 192 or 256
  int max_bits;  ///< HomomorphicEncryption.org, "Homomorphic encryption standard", 2018, table 1, ternary
                 ///< secrets
  std::vector<std::uint64_t> primes;
};

/// None for a ring degree or security that the table lacks.
[[nodiscard]] const default_row* find_row(std::size_t degree, int security) noexcept;

}  // namespace seal::detail
