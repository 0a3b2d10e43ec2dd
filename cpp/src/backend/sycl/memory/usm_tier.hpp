// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/sycl/runtime/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::sycl {

/// Unified shared memory of one kind. Freed blocks are kept for re-use by exact size, in the order of the
/// kernels, until the tier is trimmed: giving memory back to the runtime waits for the device.
[[nodiscard]] std::unique_ptr<memory::tier> make_usm_tier(std::shared_ptr<device_context> device,
                                                          sycl_bridge::place kind);

/// Addresses for frames. Where kernels may use any memory of the process (CPUs), they are reserved, and pages
/// come and go with `grow` and `shrink`; elsewhere they are one allocation of the device, made at once.
/// @throws device_error when there is no memory for it
[[nodiscard]] std::unique_ptr<memory::device_range> make_usm_range(std::shared_ptr<device_context> device,
                                                                   std::size_t bytes);

}  // namespace halocline::backend::sycl
