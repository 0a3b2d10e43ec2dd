// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/arith/uniform_source.hpp"
#include "halocline/ckks/key_id.hpp"
#include "halocline/ring/poly.hpp"

namespace halocline::ckks {

class context;

/// An encrypted message: components c_0, c_1 (and c_2 before relinearization) with c_0 + c_1 s + c_2 s^2 =
/// round(scale * message) + noise modulo the primes of `level`, in NTT form. Move-only; the bytes live in the
/// runtime of the context that made it.
struct ciphertext {
  std::vector<ring::poly> parts;  ///< 2, or 3 before relinearization
  unsigned level = 0;             ///< rescalings left
  double scale = 1.0;             ///< exact up to the precision of a double
  std::uint32_t slots = 0;        ///< power of two, at most N/2
  /// Seed of c_1 while the ciphertext is unchanged since symmetric encryption: halves its bytes in files.
  std::optional<arith::uniform_source> seed;
  /// A hint for decoding: the encrypted values were real. Copies and files keep it; results of evaluators do
  /// not have it.
  bool real_hint = false;
  /// The secret key that it is encrypted under. Results of operations have that of their operands and of the
  /// evaluation keys used.
  key_id key{};

  /// Bytes of residues.
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// Ciphertexts that go through an operation together.
using ciphertext_span = std::span<const ciphertext* const>;

/// A context in host memory for objects that are read from files: they can be loaded, checked, saved and
/// handed to an engine or a client, which is all that it is for.
[[nodiscard]] std::shared_ptr<context> make_host_context(params::parameters parameters);

/// Deep copy within one context.
[[nodiscard]] ciphertext clone(context& ctx, const ciphertext& source);
/// Copies of several in one call of the backend.
[[nodiscard]] std::vector<ciphertext> clone(context& ctx, ciphertext_span sources);

/// The addresses of `values`, for operations that take several ciphertexts.
[[nodiscard]] std::vector<const ciphertext*> pointers(std::span<const ciphertext> values);

/// A copy that is read as one of `slots` slots. With more slots the message repeats itself. With fewer it
/// must repeat itself after `slots` slots already, which is not checked; differences between the repetitions
/// become noise. Encodings of both are the same polynomial, so nothing is computed.
/// @throws invalid_argument unless `slots` is a power of two up to N/2
[[nodiscard]] ciphertext with_slots(context& ctx, const ciphertext& source, std::uint32_t slots);

/// Copies a ciphertext from where it lives into `to`, which must have equal parameters. No other thread may
/// use its home meanwhile. `engine::load` and `client::receive` check more.
/// @throws invalid_argument when the parameters differ, the ciphertext is malformed, or it has no contents
///   and `to` is no ghost
[[nodiscard]] ciphertext transfer(const ciphertext& source, context& to);

/// Checks that a ciphertext is well formed for the context: parts, level, scale, slots and runtime.
/// @throws invalid_argument naming `operation` and what is wrong.
void check(const context& ctx, const ciphertext& value, const char* operation);
/// The same against the home of the ciphertext itself, which is the answer.
const ring::home& check(const ciphertext& value, const char* operation);

}  // namespace halocline::ckks
