// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/sycl/runtime/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::sycl {

/// Memory of a SYCL device for a runtime: blocks, frames, shared and host memory, ordered on its queues.
[[nodiscard]] std::shared_ptr<memory::device_memory> make_sycl_memory(std::shared_ptr<device_context> device);

}  // namespace halocline::backend::sycl
