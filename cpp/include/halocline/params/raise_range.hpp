// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/params/parameters.hpp"

/// How large the integers I become when bootstrapping raises the modulus: (c_0 + c_1 s) mod Q_0 plus Q_0 I.
///
/// Each coefficient of (c_0 + c_1 s) / Q_0 is a sum of h + 1 terms, each uniform in [-1/2, 1/2), where h is
/// the Hamming weight of s: an Irwin-Hall distribution with variance (h + 1) / 12 (Bossuat,
/// Troncoso-Pastoriza and Hubaux, ePrint 2022/024, equation 1; Bossuat et al., ePrint 2020/1203, section 5.2,
/// uses the same model). The message is part of the sum, so a range of EvalMod that covers the sum covers I
/// and the message together.
namespace halocline::params {

/// Hamming weight of the secret under which the modulus is raised: the ephemeral one, or the main one, of
/// which 2N/3 coefficients are not 0 on average when it is ternary.
[[nodiscard]] unsigned raise_weight(const parameters& p);

/// log2 of the probability that the sum exceeds `range` in magnitude for at least one of so many coefficients
/// (2 slots of them, N with full slots). Exact in integers up to weight 1024; above that, and never below the
/// exact value, the normal approximation. -infinity when it cannot happen.
/// @throws invalid_argument when `range` is negative or not finite, or there are no coefficients
[[nodiscard]] double log2_overflow_probability(unsigned weight, double range, std::size_t coefficients);

/// The least whole range that is exceeded with a probability of at most 2^log2_probability.
/// @throws invalid_argument when log2_probability is not below 0
[[nodiscard]] double overflow_range(unsigned weight, double log2_probability, std::size_t coefficients);

}  // namespace halocline::params
