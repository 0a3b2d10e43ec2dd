// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
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
/// plaintexts are kept, expanded to residues (and transformed) when used. Those between multiples of
/// N / (2 slots) are 0 and not kept.
struct compact_plaintext {
  memory::buffer coefficients;  ///< 2 slots signed 64-bit integers, class plaintext
  double scale = 1.0;
  std::uint32_t slots = 0;

  /// log2 of the powers of X from one coefficient to the next, in a ring of degree 2^log_n.
  [[nodiscard]] unsigned log_stride(unsigned log_n) const noexcept {
    return log_n - 1 - static_cast<unsigned>(std::countr_zero(slots));
  }

  /// Bytes of coefficients.
  [[nodiscard]] std::size_t bytes() const noexcept { return coefficients.size(); }
};

}  // namespace halocline::ckks
