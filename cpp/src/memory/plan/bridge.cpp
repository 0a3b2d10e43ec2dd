// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/bridge.hpp"

#include <algorithm>
#include <utility>

namespace halocline::memory::plan {

std::vector<std::int64_t> room_of(const program& source, const std::vector<stay>& stays,
                                  std::uint64_t capacity_pages) {
  std::vector<std::int64_t> room(source.steps() + 1);
  if (!room.empty()) room[0] = static_cast<std::int64_t>(capacity_pages);
  for (const stay& each : stays) {
    if (each.is_gone) continue;
    room[each.first] -= each.pages;
    room[each.until] += each.pages;
  }
  for (std::size_t s = 1; s < room.size(); ++s) room[s] += room[s - 1];
  room.pop_back();
  return room;
}

namespace {

/// Whether the segment below is there all the time between two stays.
bool is_supported(const std::vector<stay>& stays, const stay& before, const stay& after) {
  const stay_index below = joined(stays, after.below);
  return below == no_stay || stays[below].first <= before.last;
}

bool has_room(const room_tree& room, const stay& before, const stay& after) {
  const std::int64_t pages = std::max(before.pages, after.pages);
  return room.least(before.until, after.first) >= pages &&
         (before.pages == pages || room.least(before.first, before.until) >= pages - before.pages) &&
         (after.pages == pages || room.least(after.first, after.until) >= pages - after.pages);
}

void join(room_tree& room, stay& before, stay& after) {
  const std::int64_t pages = std::max(before.pages, after.pages);
  room.add(before.first, before.until, before.pages - pages);
  room.add(before.until, after.first, -pages);
  room.add(after.first, after.until, after.pages - pages);
  before.pages = static_cast<std::uint32_t>(pages);
  before.last = after.last;
  before.until = after.until;
  // What the first stay would have written back is now changed until the end of the second one.
  before.stores = after.drops && (after.stores || before.stores);
  before.drops = after.drops;
  after.is_gone = true;
}

}  // namespace

void bridge_gaps(std::vector<stay>& stays, room_tree& room) {
  std::vector<std::pair<step_index, stay_index>> gaps;
  for (stay_index i = 0; i < stays.size(); ++i) {
    const stay& after = stays[i];
    if (!after.loads || after.previous == no_stay) continue;
    gaps.emplace_back(after.first - stays[after.previous].until, i);
  }
  std::sort(gaps.begin(), gaps.end());
  for (const auto& [length, i] : gaps) {
    stay& after = stays[i];
    const stay_index before = joined(stays, after.previous);
    // Later stays find their way through `previous`; shortening it keeps that quick.
    after.previous = before;
    if (is_supported(stays, stays[before], after) && has_room(room, stays[before], after))
      join(room, stays[before], after);
  }
  for (stay& each : stays) {
    each.previous = joined(stays, each.previous);
    each.below = joined(stays, each.below);
  }
}

}  // namespace halocline::memory::plan
