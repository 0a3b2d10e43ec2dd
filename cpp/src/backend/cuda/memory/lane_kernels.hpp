// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/device/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::cuda {

// Kernels of `memory::device_memory` on the compute stream. All throw device_error when a launch fails.

/// `memory::device_memory::move_down`: one launch for up to 256 blocks.
void move_down(const device_context& device, std::span<const memory::block_move> blocks);

/// `memory::device_memory::occupy`.
void occupy(const device_context& device, std::uint64_t nanoseconds);

}  // namespace halocline::backend::cuda
