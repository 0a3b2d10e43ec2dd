// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halocline/ckks/plaintext.hpp"

namespace halocline::backend {
struct encode_job;
}

namespace halocline::ckks {

class context;

/// Maps complex slot vectors to polynomials and back (canonical embedding restricted to the orbit of the
/// Galois generator; Cheon, Kim, Kim, Song, "Homomorphic encryption for arithmetic of approximate numbers",
/// 2017). Slot k is the value at zeta^(g^k), so the automorphism X -> X^(g^r) rotates slots to the left by r.
/// A vector of n < N/2 slots becomes a polynomial in X^(N/2n) (sparse packing).
///
/// Encoding errs by at most half an integer per coefficient plus 2^-50 of the largest one. Tables of a slot
/// count are made at its first use and kept. Not thread-safe.
class encoder {
 public:
  explicit encoder(context& ctx) : ctx_(ctx) {}

  /// round(scale * embedding^-1(values)) at `level`. `values` may be shorter than `slots` (zero padded);
  /// without `slots` it is the next power of two from their number on.
  /// @throws invalid_argument when there are more values than slots, slots is not a power of two or above
  ///   N/2, a value is NaN or infinite, the scale is not positive, or a coefficient reaches 2^126 or half the
  ///   modulus of the level (the message gives the largest magnitude that always fits).
  [[nodiscard]] plaintext encode(std::span<const std::complex<double>> values, unsigned level, double scale,
                                 std::optional<std::uint32_t> slots = {});
  /// The same for real values.
  [[nodiscard]] plaintext encode(std::span<const double> values, unsigned level, double scale,
                                 std::optional<std::uint32_t> slots = {});

  /// Integer coefficients only.
  /// @throws invalid_argument as `encode`, and when a coefficient reaches 2^62
  [[nodiscard]] compact_plaintext encode_compact(std::span<const std::complex<double>> values, double scale,
                                                 std::optional<std::uint32_t> slots = {});
  /// Residues and NTT of a compact plaintext at a level.
  /// @throws invalid_argument when a coefficient does not fit the modulus of the level
  [[nodiscard]] plaintext expand(const compact_plaintext& source, unsigned level);

  /// Slot values of a plaintext. Uses only as many primes as a magnitude of 2^20 needs, and checks them
  /// against the residues of one more, so that a large coefficient is never truncated silently: then it uses
  /// all of them.
  [[nodiscard]] std::vector<std::complex<double>> decode(const plaintext& source);

  /// Slot values of the polynomial sum_j coefficients[j] X^(j N/2n) with 2n real coefficients: the last step
  /// of decoding, for callers that have lifted the coefficients themselves.
  /// @param coefficients 2n doubles, which are destroyed
  /// @param secret zero what is left on the device
  /// @throws invalid_argument unless the buffer has that size and `slots` is a valid number of slots
  [[nodiscard]] std::vector<std::complex<double>> to_slots(const memory::buffer& coefficients,
                                                           std::uint32_t slots, bool secret);

 private:
  /// Integer coefficients in a device buffer.
  struct integers {
    memory::buffer data;
    unsigned words = 1;  ///< 64-bit words of a coefficient
  };

  /// 2n doubles on the device: `slots` times the coefficients of the polynomial with `values` in its slots.
  [[nodiscard]] memory::buffer to_coefficients(std::span<const std::complex<double>> values,
                                               std::uint32_t slots);
  /// The largest of `count` doubles, in magnitude. 0 on the ghost backend.
  [[nodiscard]] double largest_magnitude(const memory::buffer& coefficients, std::uint32_t count);
  [[nodiscard]] integers round(std::span<const std::complex<double>> values, double scale,
                               std::uint32_t slots, double limit_bits, memory::object_class cls,
                               const char* tag);
  [[nodiscard]] plaintext to_plaintext(const backend::encode_job& coefficients, unsigned level);

  context& ctx_;
};

}  // namespace halocline::ckks
