// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/cuda/device/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::cuda {

/// Memory of a card for a runtime: pools, frames, unified memory and pinned host memory, ordered on the
/// card's compute stream.
[[nodiscard]] std::shared_ptr<memory::device_memory> make_cuda_memory(std::shared_ptr<device_context> device);

}  // namespace halocline::backend::cuda
