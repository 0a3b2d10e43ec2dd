// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline::backend::cuda {

/// Elementwise operations of two operands.
enum class binary_kind : std::uint8_t { add, sub, multiply, multiply_add };
/// Elementwise operations with a constant per limb.
enum class scalar_kind : std::uint8_t { add, multiply };

}  // namespace halocline::backend::cuda
