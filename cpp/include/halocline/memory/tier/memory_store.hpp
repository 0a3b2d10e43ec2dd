// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// A store in host memory, for bytes that leave a fast tier and need no compression, and for tests. A
/// transfer is a copy, which happens in the first `poll` or in `wait`: a frame that is used before that shows
/// stale bytes. Slots are returned to the system when they are freed. Throws as the file store does;
/// `allocate` throws io_error when more than `capacity_bytes` (0: no limit) would be in slots, or the system
/// gives no memory.
[[nodiscard]] std::unique_ptr<store> make_memory_store(std::size_t capacity_bytes = 0);

}  // namespace halocline::memory
