// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/ring/poly.hpp"

namespace halocline::ckks {

/// An encoded message: round(scale * message polynomial) modulo the primes of a level, in NTT form.
/// Move-only.
struct plaintext {
  ring::poly value;
  unsigned level = 0;
  double scale = 1.0;
  std::uint32_t slots = 0;  ///< power of two, at most N/2

  /// Bytes of residues.
  [[nodiscard]] std::size_t bytes() const noexcept { return value.data().size(); }
};

/// An encoded message as signed integer coefficients, 8 bytes each whatever the level: the form in which many
/// plaintexts are kept, expanded to residues (and transformed) when used.
struct compact_plaintext {
  memory::buffer coefficients;  ///< N signed 64-bit integers, class plaintext
  double scale = 1.0;
  std::uint32_t slots = 0;

  /// Bytes of coefficients.
  [[nodiscard]] std::size_t bytes() const noexcept { return coefficients.size(); }
};

}  // namespace halocline::ckks
