// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "backend/cuda/device/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::cuda {

/// Up to `bytes` bytes of device memory in one piece: addresses are reserved once, memory is mapped behind
/// them piece by piece.
/// @throws device_error when the driver has no virtual memory management
[[nodiscard]] std::unique_ptr<memory::device_range> make_device_range(std::shared_ptr<device_context> device,
                                                                      std::size_t bytes);

}  // namespace halocline::backend::cuda
