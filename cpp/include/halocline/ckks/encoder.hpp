// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/plaintext.hpp"

namespace halocline::ckks {

/// Maps complex slot vectors to polynomials and back (canonical embedding restricted to the orbit of the Galois
/// generator; Cheon, Kim, Kim, Song, "Homomorphic encryption for arithmetic of approximate numbers", 2017). Slot k is the
/// value at zeta^(g^k), so the automorphism X -> X^(g^r) rotates slots to the left by r. A vector of n < N/2 slots
/// becomes a polynomial in X^(N/2n) (sparse packing).
class encoder {
 public:
  explicit encoder(context& ctx);

  /// round(scale * embedding^-1(values)) at `level`. `values` may be shorter than `slots` (zero padded); `slots` 0
  /// means the next power of two of the number of values.
  /// @throws invalid_argument when there are more values than slots, slots is not a power of two or above N/2, a
  ///   value is NaN or infinite, the scale is not positive, or a coefficient would not fit the modulus of the level
  ///   (the message gives the largest magnitude that fits).
  [[nodiscard]] plaintext encode(std::span<const std::complex<double>> values, unsigned level, double scale,
                                 std::uint32_t slots = 0);
  [[nodiscard]] plaintext encode(std::span<const double> values, unsigned level, double scale,
                                 std::uint32_t slots = 0);

  /// Integer coefficients only; scale * |value| must stay below 2^62.
  [[nodiscard]] compact_plaintext encode_compact(std::span<const std::complex<double>> values, double scale,
                                                 std::uint32_t slots = 0);
  /// Residues and NTT of a compact plaintext at a level.
  [[nodiscard]] plaintext expand(const compact_plaintext& source, unsigned level);

  /// Slot values of a plaintext. Uses only as many primes as the magnitude needs, and checks them against the
  /// residues of one more, so that a large coefficient is never truncated silently.
  [[nodiscard]] std::vector<std::complex<double>> decode(const plaintext& source);

 private:
  [[nodiscard]] std::vector<double> to_coefficients(std::span<const std::complex<double>> values, double scale,
                                                    std::uint32_t slots) const;
  [[nodiscard]] plaintext from_coefficients(std::span<const double> coefficients, unsigned level, double scale,
                                            std::uint32_t slots);

  context& ctx_;
  std::vector<std::complex<double>> roots_;     ///< zeta_{2N}^i, i < 2N
  std::vector<std::uint32_t> generator_powers_;  ///< g^k mod 2N, k < N/2
};

}  // namespace halocline::ckks
