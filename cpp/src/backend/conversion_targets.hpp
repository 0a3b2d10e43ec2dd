// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "halocline/backend/descriptors.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend {

/// Number, among the targets of a conversion, of the first prime of `primes`.
/// @throws invalid_argument unless these are consecutive targets
[[nodiscard]] inline std::uint32_t first_target(const conversion_table& table, window primes) {
  const auto begin = std::find(table.targets.begin(), table.targets.end(), primes.first);
  const auto first = static_cast<std::size_t>(begin - table.targets.begin());
  for (std::uint32_t i = 0; i < primes.count; ++i) {
    HALOCLINE_EXPECTS(first + i < table.targets.size() && table.targets[first + i] == primes.first + i,
                      invalid_argument, "ntt_linear_combine: prime ", primes.first + i, " of the window [",
                      primes.first, ", ", primes.end(),
                      ") is not the next target of the conversion; expected", " consecutive ones");
  }
  return static_cast<std::uint32_t>(first);
}

}  // namespace halocline::backend
