// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Counts an allocation of the size that `history` belongs to: the live count grows by one and joins the kept
/// counts; of those, the last `length` stay (hybrid paper, section III-D). `length` is at least 1.
void on_allocate(size_history& history, std::size_t length);

/// Counts a free. A free of what was allocated before the counting began leaves the live count at 0.
void on_free(size_history& history) noexcept;

}  // namespace halocline::memory
