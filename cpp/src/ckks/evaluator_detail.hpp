// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_switch.hpp"

/// What the parts of the evaluator share.
namespace halocline::ckks::detail {

inline constexpr const char* ciphertext_tag = "ciphertext";

/// Checks ciphertexts that go through one operation together, which take the same steps only when they have
/// the same shape.
/// @throws invalid_argument for none, a malformed one, or one of another level, scale, number of slots or
///   components than the first
void require_alike(const context& ctx, ciphertext_span many, const char* operation);
/// The same where every ciphertext may have a scale of its own.
void require_alike_but_scales(const context& ctx, ciphertext_span many, const char* operation);
/// The same of two operands. @throws invalid_argument also for lists of different lengths
void require_pairs(const context& ctx, ciphertext_span a, ciphertext_span b, const char* operation);

/// What an operation on one ciphertext makes of the results of the list of one.
[[nodiscard]] inline ciphertext only(std::vector<ciphertext> results) { return std::move(results.front()); }

/// Operands, or what they became where they had to change.
struct operands {
  explicit operands(ciphertext_span given) : views(given.begin(), given.end()) {}
  operands(operands&&) = default;  // a copy would point to the ciphertexts of the original
  operands& operator=(operands&&) = default;
  void become(std::vector<ciphertext> changed) {
    copies = std::move(changed);
    views = pointers(copies);
  }
  [[nodiscard]] const ciphertext& front() const { return *views.front(); }

  std::vector<const ciphertext*> views;
  std::vector<ciphertext> copies;
};

/// Throws level_exhausted naming `operation` at level 0.
void require_level(const ciphertext& a, const char* operation);
/// @throws invalid_argument where `a` is below `level`, or lacks primes of it: its limbs beyond those of the
/// level cannot just be ignored then
void require_primes(const params::parameters& parameters, const ciphertext& a, unsigned level,
                    const char* operation);
/// @throws invalid_argument where a constant times its scale exceeds half of the modulus, and would wrap
void require_room(const params::parameters& parameters, unsigned level, std::complex<double> constant,
                  double scale, const char* operation);

/// The key of a result of two operands. @throws key_mismatch naming `operation`
[[nodiscard]] inline key_id common_key_of(const ciphertext& a, const ciphertext& b, const char* operation) {
  return common_key(a.key, b.key, operation, "the first operand", "the second operand");
}

/// An empty ciphertext with the metadata of `like` and `parts` uninitialised components at its level.
[[nodiscard]] ciphertext make_like(context& ctx, const ciphertext& like, std::size_t parts);

/// Views of the chain limbs of component i.
[[nodiscard]] inline backend::limb_view part(const ciphertext& a, std::size_t i) {
  return a.parts[i].chain();
}

/// Whether a constant has residues: it is real, or i is one in the ring. With generator 3 X^(N/2) is i in
/// every other slot and -i between them, and a constant that is not real needs a full encoding.
[[nodiscard]] bool has_residues(const params::parameters& parameters, std::complex<double> c) noexcept;
/// c * factor.
[[nodiscard]] std::complex<long double> scaled(std::complex<double> c, double factor) noexcept;
/// The integer nearest to `scaled` times each ciphertext at `level`, whose primes they have; with `scale`.
[[nodiscard]] std::vector<ciphertext> times_integer(context& ctx, ciphertext_span many, unsigned level,
                                                    double scale, std::complex<long double> scaled);

/// Residues of round(real) + round(imaginary) i on every limb of `primes`.
/// @throws invalid_argument for NaN, infinity, or a magnitude above 2^120.
[[nodiscard]] std::vector<backend::scalar_pair> constant_residues(context& ctx, arith::window primes,
                                                                  std::complex<long double> value);

}  // namespace halocline::ckks::detail
