// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace halocline::seal_format {

/// SHAKE256 (FIPS 202) of `in`, `out.size()` bytes.
void shake256(std::span<std::uint8_t> out, std::span<const std::uint8_t> in);

}  // namespace halocline::seal_format
