// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace halocline::arith {

/// 32-byte public seed of a uniform stream.
using seed_bytes = std::array<std::uint8_t, 32>;

}  // namespace halocline::arith
