// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "halocline/ckks/context.hpp"

namespace halocline::ckks {

/// Bits that a message may have above its scale before a lift needs more primes than usual.
inline constexpr double lift_headroom_bits = 20.0;

/// Primes that a lift from residues to numbers looks at.
struct lift_plan {
  arith::window primes;
  /// The last prime is not needed for the magnitude: it tells whether the magnitude was enough.
  bool guarded = false;
};

/// The fewest last primes of `available` whose product exceeds 2^(magnitude_bits + 1), and one more before
/// them as guard; all of `available`, unguarded, when that would not be fewer.
[[nodiscard]] lift_plan plan_lift(const params::parameters& parameters, arith::window available,
                                  double magnitude_bits);

/// Lifts coefficients 0, stride, 2 stride, ... of `source` (coefficient form, destroyed) to the integers of
/// least magnitude and divides them by `scale`. The relative error is at most 2^-50 for any magnitude: the
/// integers are exact sums of mixed radix digits (Garner) in balanced form, which are nearly free of
/// cancellation.
/// @param source   the limbs of a lift plan's primes
/// @param guarded  the last mixed radix digit, that of the first prime of `source`, must be 0
/// @param count    how many coefficients
/// @param secret   zero the result when it is freed
/// @return `count` doubles on the device; nothing when a guard digit is not 0: more primes are needed
[[nodiscard]] std::optional<memory::buffer> lift_coefficients(context& ctx, const backend::limb_view& source,
                                                              bool guarded, std::uint32_t count,
                                                              std::uint32_t stride, double scale,
                                                              bool secret);

}  // namespace halocline::ckks
