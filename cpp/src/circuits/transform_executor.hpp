// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/context.hpp"

/// Evaluation of a matrix of linear maps.
namespace halocline::circuits::detail {

/// Residues and NTT of a compact diagonal over the primes that the plan's products use: those of the level,
/// and the special primes in double hoisting; several in one batch.
[[nodiscard]] std::vector<ring::poly> expand_diagonals(
    ckks::context& ctx, std::span<const ckks::compact_plaintext* const> sources, const transform_plan& plan,
    memory::object_class cls);
/// The same for one. With `log_repeat`, of a polynomial in X^(2^log_repeat), only
/// the points that differ.
[[nodiscard]] ring::poly expand_diagonal(ckks::context& ctx, const ckks::compact_plaintext& source,
                                         const transform_plan& plan, memory::object_class cls,
                                         unsigned log_repeat = 0);

/// All outputs of a grid; `inputs` are checked and brought to the its level.
[[nodiscard]] std::vector<ckks::ciphertext> evaluate(ckks::evaluator& eval, const transform_grid& grid,
                                                     std::span<const ckks::ciphertext* const> inputs);

}  // namespace halocline::circuits::detail
