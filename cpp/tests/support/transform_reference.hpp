// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/circuits/linear_transform.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {

/// The definition of a linear transform: y[i] = sum_d diagonals[d][i] x[(i + d) mod slots].
inline complex_vector transform_reference(const circuits::diagonal_map& diagonals, const complex_vector& x) {
  complex_vector y(x.size());
  for (const auto& [index, diagonal] : diagonals) {
    const complex_vector shifted = rotated_left(x, index);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += diagonal[i] * shifted[i];
  }
  return y;
}

/// Random diagonals at the given indices, entries in the square [-1, 1] + [-1, 1] i divided by their number,
/// so that results stay within sqrt(2).
inline circuits::diagonal_map random_diagonals(const ckks_rig& rig, const std::vector<int>& indices,
                                               std::uint32_t slots, std::uint32_t seed) {
  circuits::diagonal_map result;
  for (const int index : indices) {
    complex_vector& diagonal = result[index] =
        rig.random_values(slots, seed + static_cast<std::uint32_t>(index + 70000));
    for (auto& value : diagonal) value /= static_cast<double>(indices.size());
  }
  return result;
}

}  // namespace halocline::test
