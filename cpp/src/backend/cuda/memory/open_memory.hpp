// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::cuda {

/// Memory of card `ordinal` without a backend, for tests and measurements of memory alone.
/// @throws device_error as `device_context::open`
[[nodiscard]] std::shared_ptr<memory::device_memory> open_memory(int ordinal);

}  // namespace halocline::backend::cuda
