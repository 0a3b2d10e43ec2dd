// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <map>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"

namespace halocline::circuits::detail {

/// Diagonals of one block by index in (-block, block): entry i acts on slot i of every block.
using block_patterns = std::map<int, std::vector<std::complex<double>>>;

/// The diagonals of all slots / block blocks. Where one block fills all slots, d and d - slots are the same
/// rotation and are merged; their entries never meet, because i + d and i + d - slots are not both in the
/// block.
[[nodiscard]] inline diagonal_map spread(const block_patterns& patterns, std::uint32_t block,
                                         std::uint32_t slots) {
  diagonal_map result;
  for (const auto& [index, pattern] : patterns) {
    auto& diagonal = result[index < 0 && block == slots ? index + static_cast<int>(slots) : index];
    diagonal.resize(slots);
    for (std::uint32_t begin = 0; begin < slots; begin += block) {
      for (std::uint32_t i = 0; i < block; ++i) diagonal[begin + i] += pattern[i];
    }
  }
  return result;
}

}  // namespace halocline::circuits::detail
