// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "halocline/ckks/evaluator.hpp"

namespace halocline::ckks {

/// Linear combinations: result r is sum_i rows[r][i] * values[i] in every slot, at `level` with its canonical
/// scale. Numbers are encoded for the scale that each ciphertext has, its limbs beyond level + 1 are ignored
/// where it has the primes of that level (otherwise it is lowered first), and all results are divided
/// together: cheaper and with less rounding than lowering each ciphertext and adding products. The steps do
/// not depend on the numbers; one below half of the reciprocal of its scale rounds to 0.
/// @param values at least one, all of them above `level`, with the same slots and components
/// @param rows at least one, of a finite number for each ciphertext
/// @throws invalid_argument for other shapes, and numbers that are not finite or have no room;
///   level_exhausted where a ciphertext is not above `level`; key_mismatch
[[nodiscard]] std::vector<ciphertext> combinations(evaluator& on, ciphertext_span values,
                                                   std::span<const std::vector<double>> rows, unsigned level);

}  // namespace halocline::ckks
