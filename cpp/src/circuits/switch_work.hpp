// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "halocline/ckks/rotation_sums.hpp"
#include "halocline/params/parameters.hpp"

/// The cost model of key switches that plans of transforms and of sums share.
namespace halocline::circuits::detail {

/// Costs of the parts of a key switch, in NTTs of one limb; see `transform_cost::work`.
struct switch_work {
  double pass;      ///< elementwise operation on one limb
  double raise;     ///< ModUp of one polynomial
  double multiply;  ///< product with a key and automorphism of both results, which memory bounds
  double join;      ///< the same within `key_dot`
  double divide;    ///< division by P of one polynomial
  double limbs;     ///< of the level
  double special;   ///< special primes
};

/// Passes over a limb that a product with a diagonal takes: in `key_dot`, where both factors are at hand, and
/// otherwise.
inline constexpr double joined_product = 0.8;
inline constexpr double written_product = 2;

[[nodiscard]] switch_work work_at(const params::parameters& parameters, unsigned level);

/// Digits of key switches at a level.
[[nodiscard]] unsigned digits_at(const params::parameters& parameters, unsigned level);

/// Of a rotation by itself, and of `ckks::evaluator::sum_rotations`.
[[nodiscard]] double rotation_work(const params::parameters& parameters, unsigned level);
[[nodiscard]] double sum_work(const params::parameters& parameters, unsigned level,
                              std::span<const ckks::rotation_stage> stages);

/// Radixes that are worth a trial, best first where several need the same work.
inline constexpr unsigned sum_radixes[] = {2, 4, 8, 16};
/// The one with the least work for a sum of `count` rotations.
[[nodiscard]] unsigned best_sum_radix(const params::parameters& parameters, unsigned level,
                                      std::uint32_t count);

}  // namespace halocline::circuits::detail
