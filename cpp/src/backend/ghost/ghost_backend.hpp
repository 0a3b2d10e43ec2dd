// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "halocline/backend/backend.hpp"

namespace halocline::backend {

/// Backend that executes shapes, levels, scales and allocations, but no arithmetic: every operation acquires
/// its buffers, which records the trace, and computes nothing. `runtime` must be a ghost runtime.
[[nodiscard]] std::shared_ptr<backend> make_ghost_backend(std::shared_ptr<memory::runtime> runtime);

}  // namespace halocline::backend
