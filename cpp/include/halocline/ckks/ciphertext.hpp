// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_id.hpp"
#include "halocline/ring/poly.hpp"

namespace halocline::ckks {

/// An encrypted message: components c_0, c_1 (and c_2 before relinearization) with c_0 + c_1 s + c_2 s^2 =
/// round(scale * message) + noise modulo the primes of `level`, in NTT form. Move-only; the bytes live in the
/// runtime of the context that made it.
struct ciphertext {
  std::vector<ring::poly> parts;  ///< 2, or 3 before relinearization
  unsigned level = 0;             ///< rescalings left
  double scale = 1.0;             ///< exact up to the precision of a double
  std::uint32_t slots = 0;        ///< power of two, at most N/2
  /// Where c_1 comes from while the ciphertext is as symmetric encryption made it: saves half the bytes on
  /// the way.
  std::optional<backend::uniform_source> seed;
  /// For whoever decodes: only real numbers went in. Travels with copies and files; evaluators do not keep
  /// it.
  bool real_hint = false;
  /// The secret key that it is encrypted under. Results of operations have that of their operands and of the
  /// evaluation keys used.
  key_id key{};

  /// Bytes of residues.
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// Deep copy within one context.
[[nodiscard]] ciphertext clone(context& ctx, const ciphertext& source);

/// A copy that is read as one of `slots` slots. More slots: the message repeats itself. Fewer: the caller
/// knows that it repeats itself after `slots` slots, which is not checked; what differs between the
/// repetitions becomes noise. Encodings of both are the same polynomial, so nothing is computed.
/// @throws invalid_argument unless `slots` is a power of two up to N/2
[[nodiscard]] ciphertext with_slots(context& ctx, const ciphertext& source, std::uint32_t slots);

/// Copies a ciphertext from the context `from` into `to`, which must have equal parameters.
/// @throws invalid_argument when the parameters differ.
[[nodiscard]] ciphertext transfer(context& from, const ciphertext& source, context& to);

/// Checks that a ciphertext is well formed for the context: parts, level, scale, slots and runtime.
/// @throws invalid_argument naming `operation` and what is wrong.
void check(const context& ctx, const ciphertext& value, const char* operation);

}  // namespace halocline::ckks
