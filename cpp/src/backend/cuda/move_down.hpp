// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/cuda/device_context.hpp"

namespace halocline::backend::cuda {

/// Copies `bytes` bytes to a lower address of the device on the compute stream; the two places may overlap.
/// Everything is a multiple of 16 bytes. One launch, whatever the distance.
/// @throws device_error when the launch fails
void move_down(const device_context& device, std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace halocline::backend::cuda
