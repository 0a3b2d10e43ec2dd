// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halocline::arith {

/// `gaussian_value` for many words: magnitude = number of table entries that the low 63 bits of a word reach,
/// sign = its highest bit. The inner loop scans the table for a group of words; it compares by the sign of a
/// difference and vectorises.
/// @param table cumulative distribution of magnitudes in units of 2^-63 (`gaussian_table`)
/// @param out as many values as there are words
inline void gaussian_values(std::span<const std::uint64_t> table, std::span<const std::uint64_t> words,
                            std::int64_t* out) {
  constexpr std::uint64_t low63 = ~std::uint64_t{0} >> 1;
  constexpr std::size_t group = 16;
  std::array<std::uint64_t, group> position{};
  std::array<std::uint64_t, group> missed{};
  for (std::size_t first = 0; first < words.size(); first += group) {
    missed.fill(0);
    const std::size_t count = std::min(group, words.size() - first);
    for (std::size_t i = 0; i < count; ++i) position[i] = words[first + i] & low63;
    for (const std::uint64_t entry : table) {
      for (std::size_t i = 0; i < group; ++i) missed[i] += (position[i] - entry) >> 63;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto magnitude = static_cast<std::int64_t>(table.size() - missed[i]);
      const std::int64_t negative = -static_cast<std::int64_t>(words[first + i] >> 63);
      out[first + i] = (magnitude ^ negative) - negative;
    }
  }
  sodium_memzero(position.data(), sizeof(position));
  sodium_memzero(missed.data(), sizeof(missed));
}

}  // namespace halocline::arith
