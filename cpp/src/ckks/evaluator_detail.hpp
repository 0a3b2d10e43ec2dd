// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/key_switch.hpp"

/// What the parts of the evaluator share.
namespace halocline::ckks::detail {

inline constexpr const char* ciphertext_tag = "ciphertext";

/// Two scales that differ by less than this (relatively) are taken as equal: far below the noise of any scale
/// in use.
inline constexpr double scale_tolerance = 0x1p-42;
/// In manual mode operands may differ by this much before an addition is refused.
inline constexpr double manual_tolerance = 0x1p-30;

[[nodiscard]] bool same_scale(double a, double b, double tolerance);

/// Q_l / Q_(l-1): what a rescale from `level` divides the scale by.
[[nodiscard]] long double rescale_ratio(const params::parameters& parameters, unsigned level);

/// The canonical scale of `level` when `scale` is that up to rounding, else `scale`.
[[nodiscard]] double snap_scale(const params::parameters& parameters, unsigned level, double scale);

/// The plaintext scale with which a product at `level` rescales to the canonical scale below.
[[nodiscard]] double matching_plain_scale(const params::parameters& parameters, unsigned level, double scale);

/// Throws level_exhausted naming `operation` at level 0.
void require_level(const ciphertext& a, const char* operation);
/// @throws invalid_argument where a constant times its scale exceeds half of the modulus, and would wrap
void require_room(const params::parameters& parameters, const ciphertext& a, std::complex<double> constant,
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

/// Residues of round(real) + round(imaginary) i on every limb of `primes`.
/// @throws invalid_argument for NaN, infinity, or a magnitude above 2^120.
[[nodiscard]] std::vector<backend::scalar_pair> constant_residues(context& ctx, backend::window primes,
                                                                  std::complex<long double> value);

/// Divides extended components (special + chain of `level`) by P and, when `target` is below `level`,
/// rescales in the same division.
[[nodiscard]] std::vector<ring::poly> finish_switch(context& ctx, const poly_pair& extended, unsigned level,
                                                    unsigned target);

}  // namespace halocline::ckks::detail
