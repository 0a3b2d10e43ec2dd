// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace halocline::memory {

/// Part of the budget that plans leave free, and that should be free before frames of a device are moved
/// together: in a fast tier that is full to the last page nearly every new frame is put together from pieces.
/// In `wide-rotations` within 25 % of its footprint, 1/16 instead of nothing has a twentieth of the bytes
/// moved within a GPU, for 20 % more loaded, and a quarter of the pieces moved in host memory, for 8 % more.
inline constexpr std::size_t loose_part = 16;

}  // namespace halocline::memory
