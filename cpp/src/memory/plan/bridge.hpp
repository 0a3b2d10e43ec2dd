// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "memory/plan/replacement.hpp"
#include "memory/plan/room_tree.hpp"

namespace halocline::memory::plan {

/// Free pages of each step when stays hold their frames from `first` to `until`.
[[nodiscard]] std::vector<std::int64_t> room_of(const program& source, const std::vector<stay>& stays,
                                                std::uint64_t capacity_pages);

/// Joins stays of the same object where the frame could have been kept in between, shortest gaps first: an
/// idle frame is released right after its last use, so there is free room that replacement, which works
/// forward in time, cannot foresee. Saves loads and write-backs; `room` is kept up to date.
void bridge_gaps(std::vector<stay>& stays, room_tree& room);

}  // namespace halocline::memory::plan
