// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/cuda/device/device_context.hpp"
#include "halocline/memory/tier.hpp"

namespace halocline::backend::cuda {

/// Device memory from a stream-ordered pool of its own (cudaMallocAsync): frees are ordered behind the work
/// of the compute stream and never wait for it. Freed bytes stay in the pool until `trim`.
[[nodiscard]] std::unique_ptr<memory::tier> make_pool_tier(std::shared_ptr<device_context> device);

}  // namespace halocline::backend::cuda
