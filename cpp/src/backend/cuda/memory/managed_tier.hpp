// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/cuda/device/device_context.hpp"
#include "halocline/memory/tier.hpp"

namespace halocline::backend::cuda {

/// Unified memory: one cudaMallocManaged per block, or, if `stream_ordered`, blocks of a stream-ordered pool
/// of managed memory (CUDA 13). A block of the first kind that is freed waits for the device, so keep blocks
/// for re-use.
/// @throws device_error when the card or driver lacks managed pools
[[nodiscard]] std::unique_ptr<memory::tier> make_managed_tier(std::shared_ptr<device_context> device,
                                                              bool stream_ordered);

}  // namespace halocline::backend::cuda
