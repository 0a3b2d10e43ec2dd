// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"

/// Evaluation of a matrix of linear maps; the public classes are views of it.
namespace halocline::circuits::detail {

/// Cells row-major [output][input]; nullptr is a zero cell. All share the plan's mode, level, slots and
/// steps.
struct grid_view {
  const transform_plan* plan = nullptr;
  std::size_t inputs = 0;
  std::vector<const linear_transform*> cells;

  [[nodiscard]] std::size_t outputs() const noexcept { return cells.size() / inputs; }
  [[nodiscard]] const linear_transform* cell(std::size_t output, std::size_t input) const {
    return cells[output * inputs + input];
  }
  /// Babies of every input and giants of every output that non-zero cells use.
  [[nodiscard]] transform_usage usage() const;
};

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

/// All outputs of the grid; `inputs` are checked and brought to the plan's level.
[[nodiscard]] std::vector<ckks::ciphertext> evaluate(ckks::evaluator& eval, const grid_view& grid,
                                                     std::span<const ckks::ciphertext* const> inputs);

}  // namespace halocline::circuits::detail
