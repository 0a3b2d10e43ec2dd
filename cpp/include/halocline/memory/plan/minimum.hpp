// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/memory/trace.hpp"

namespace halocline::memory::plan {

/// Smallest budgets in which a traced program runs on a host, for the policies that move bytes. What the
/// program does not touch needs no room. On a GPU, whose frames lie in a row, a run can need more.
struct minimum_budget {
  std::uint64_t lru_bytes = 0;      ///< largest step with whole operands, and scratch that is live then
  std::uint64_t planned_bytes = 0;  ///< the same with the pages that each step touches; for a plan
  std::uint64_t managed_bytes = 0;  ///< largest step with whole operands, where scratch moves too
};

/// Finds them in two passes over the trace, without planning. Steps that build tables count too, and so
/// does the largest buffer: one that exceeds the budget is refused when it is allocated.
/// @throws corrupt_data when the trace contradicts itself, as `make_program`.
[[nodiscard]] minimum_budget find_minimum(const trace& recorded);

}  // namespace halocline::memory::plan
