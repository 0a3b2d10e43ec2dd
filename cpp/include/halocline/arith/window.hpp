// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline::arith {

/// Contiguous range [first, first + count) of the prime list of a ring.
struct window {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  /// First prime behind the range.
  [[nodiscard]] constexpr std::uint32_t end() const noexcept { return first + count; }
  /// Whether a prime index lies in the range.
  [[nodiscard]] constexpr bool contains(std::uint32_t prime) const noexcept {
    return prime >= first && prime < end();
  }
  bool operator==(const window&) const = default;
};

}  // namespace halocline::arith
