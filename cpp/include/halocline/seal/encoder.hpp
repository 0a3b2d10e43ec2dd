// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/arith/slot_fft.hpp"

namespace halocline::seal {

/// Messages as SEAL encodes them: slot k of N/2 is the value of the polynomial at zeta^(3^k), zeta = exp(2 pi
/// i / 2N) (canonical embedding; Cheon, Kim, Kim, Song, "Homomorphic encryption for arithmetic of approximate
/// numbers", 2017). In host memory, in double precision. Immutable: may be used by several threads.
class encoder {
 public:
  /// @param n ring degree, a power of two from 2 on
  explicit encoder(std::uint64_t n);

  [[nodiscard]] std::uint64_t n() const noexcept { return n_; }
  /// Coefficients of the real polynomial with these values in its slots, times `scale`, not yet rounded.
  /// @param values up to N/2; those that are missing are 0
  [[nodiscard]] std::vector<double> to_coefficients(std::span<const std::complex<double>> values,
                                                    double scale) const;
  /// Slots of a polynomial with N coefficients.
  [[nodiscard]] std::vector<std::complex<double>> to_slots(std::span<const double> coefficients) const;

 private:
  std::uint64_t n_;
  std::vector<arith::fft_point> roots_;  // of block p at depth d: entry 2^d + p
  std::vector<std::uint32_t> places_;    // of slot k: twice its point, and 1 when it is conjugated
};

/// Rounds finite numbers to integers, ties away from zero as SEAL does, and writes their residues modulo each
/// prime, of any magnitude.
/// @param words primes x numbers
void to_residues(std::span<const double> numbers, std::span<const std::uint64_t> primes,
                 std::span<std::uint64_t> words);

/// The integers of least magnitude with given residues, divided by `scale`: exact but for the rounding of
/// doubles (Garner, "The residue number system", 1959, with balanced digits).
/// @param words primes x numbers; destroyed
[[nodiscard]] std::vector<double> from_residues(std::span<std::uint64_t> words,
                                                std::span<const std::uint64_t> primes, double scale);

}  // namespace halocline::seal
