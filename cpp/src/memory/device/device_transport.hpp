// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "halocline/memory/runtime_options.hpp"
#include "memory/pager/transport.hpp"

namespace halocline::memory {

/// Transport between the memory of `options.device` and pinned host memory, which `overflow` stands behind.
/// Copies are queued on lanes; with `options.blocking_copies` the host waits.
[[nodiscard]] std::unique_ptr<transport> make_device_transport(const runtime_options& options,
                                                               std::shared_ptr<store> overflow);

}  // namespace halocline::memory
