// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Whether a block of `bytes` fits into the budget next to what the pool already holds. Managed and paged
/// bytes do not count: they can be evicted. In an unlimited budget (0) everything fits.
[[nodiscard]] constexpr bool pool_has_room(const policy_state& state, std::size_t bytes) noexcept {
  if (state.budget_bytes == 0) return true;
  return bytes <= state.budget_bytes && state.pool_bytes <= state.budget_bytes - bytes;
}

}  // namespace halocline::memory
