// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/io/container.hpp"

/// Names of the sections of a bundle of keys.
namespace halocline::io::detail {

/// The half b of a digit of the key for a Galois element.
[[nodiscard]] constexpr section_id half_b(std::uint64_t element, std::size_t digit) {
  return {section_tag("KEYB"), static_cast<std::uint32_t>(digit), element};
}
/// The uniform half, where it is not kept as a seed.
[[nodiscard]] constexpr section_id half_a(std::uint64_t element, std::size_t digit) {
  return {section_tag("KEYA"), static_cast<std::uint32_t>(digit), element};
}

}  // namespace halocline::io::detail
