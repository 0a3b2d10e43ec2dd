// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace seal::halocline_detail {

/// A row of `CoeffModulus::MaxBitCount` and `CoeffModulus::BFVDefault`.
struct default_row {
  std::size_t degree;
  int security;  ///< 128, 192 or 256
  int max_bits;  ///< HomomorphicEncryption.org, "Homomorphic encryption standard", 2018, table 1, ternary
                 ///< secrets
  std::array<std::uint64_t, 16> primes;  ///< 0 behind the last one
};

/// None for a ring degree or security that the table lacks.
[[nodiscard]] const default_row* find_row(std::size_t degree, int security) noexcept;

}  // namespace seal::halocline_detail
