// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/params/parameters.hpp"

/// The arithmetic of scales: what a rescale divides by, and when two scales count as equal. Scales are
/// positive; level numbers are those of `params::parameters`.
namespace halocline::ckks {

/// Two scales that differ by less than this (relatively) are taken as equal: far below the noise of any scale
/// in use.
inline constexpr double scale_tolerance = 0x1p-42;
/// In manual mode operands may differ by this much before an addition is refused.
inline constexpr double manual_tolerance = 0x1p-30;

/// Whether |a - b| <= tolerance * max(a, b).
[[nodiscard]] bool same_scale(double a, double b, double tolerance);

/// Q_l / Q_(l-1): what a rescale from `level` divides the scale by.
[[nodiscard]] long double rescale_ratio(const params::parameters& parameters, unsigned level);

/// Whether level `from` has all primes of level `to`, at most `from`: a ciphertext comes down without a
/// division then, because its other limbs can be ignored. Its scale stays what it is.
[[nodiscard]] bool has_primes_of(const params::parameters& parameters, unsigned from, unsigned to);

/// The canonical scale of `level` when `scale` is that up to rounding, else `scale`.
[[nodiscard]] double snap_scale(const params::parameters& parameters, unsigned level, double scale);

/// What a rescale from `level` makes of `scale`, snapped.
[[nodiscard]] double rescaled_scale(const params::parameters& parameters, unsigned level, double scale);

/// The plaintext scale with which a product at `level` rescales to the canonical scale below.
[[nodiscard]] double matching_plain_scale(const params::parameters& parameters, unsigned level, double scale);

}  // namespace halocline::ckks
