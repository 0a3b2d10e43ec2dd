// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/planner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/plan/bridge.hpp"
#include "memory/plan/replacement.hpp"
#include "memory/plan/schedule.hpp"

namespace halocline::memory::plan {
namespace {

/// One complete answer: who is there when, and when it is brought.
struct solution {
  std::vector<stay> stays;
  timetable times;
};

/// Timetable with the best choice between loading and regenerating.
timetable best_timetable(const program& source, const liveness& lives, const std::vector<stay>& stays,
                         const room_tree& room, const planner_options& options) {
  constexpr int passes = 4;
  scheduler schedule(source, lives, stays, options);
  std::vector<std::uint8_t> regenerates(stays.size());
  timetable best = schedule.run(room, regenerates);
  for (int i = 0; i < passes && choose_regenerations(schedule, stays, regenerates); ++i) {
    timetable next = schedule.run(room, regenerates);
    if (next.expected.total_ns < best.expected.total_ns) best = std::move(next);
  }
  return best;
}

solution solve(const program& source, const liveness& lives, const planner_options& options,
               const victim_rules& rules) {
  solution result;
  result.stays = choose_stays(source, lives, options, rules);
  room_tree room(room_of(source, result.stays, options.capacity_bytes / page_bytes));
  bridge_gaps(result.stays, room);
  result.times = best_timetable(source, lives, result.stays, room, options);
  return result;
}

/// Directives in the order of execution. Before one step: frames are given up, then what the step itself
/// needs is loaded, then regenerated, then what later steps need is loaded.
std::vector<directive> write_directives(const program& source, const solution& from) {
  std::vector<std::pair<std::uint64_t, directive>> list;
  const auto add = [&](step_index before, unsigned rank, const stay& each, verb action) {
    list.push_back({std::uint64_t{before} * 4 + rank, {before, each.target, each.pages, action}});
  };
  for (stay_index i = 0; i < from.stays.size(); ++i) {
    const stay& each = from.stays[i];
    if (each.is_gone) continue;
    if (each.drops && each.until < source.steps()) {
      add(each.until, 0, each, each.stores ? verb::write_back : verb::drop);
    }
    if (!each.loads) continue;
    if (from.times.regenerates[i] != 0) {
      const bool expands = source.objects[each.target].comes_back == recovery::expand;
      add(each.first, 2, each, expands ? verb::expand : verb::encode);
    } else {
      add(from.times.issue[i], from.times.issue[i] == each.first ? 1 : 3, each, verb::load);
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<directive> result;
  result.reserve(list.size());
  for (const auto& [key, each] : list) result.push_back(each);
  return result;
}

}  // namespace

plan make_plan(const program& source, const planner_options& options) {
  const std::uint64_t minimum = minimum_capacity(source);
  HALOCLINE_EXPECTS(options.capacity_bytes / page_bytes * page_bytes >= minimum, out_of_memory,
                    "cannot plan for ", format_bytes(options.capacity_bytes), " (", options.capacity_bytes,
                    " bytes): the largest step of the program needs at least ", format_bytes(minimum), " (",
                    minimum, " bytes)");
  const liveness lives = find_liveness(source);
  victim_rules rules;
  rules.capacity_pages = options.capacity_bytes / page_bytes;
  const solution best = solve(source, lives, options, rules);
  plan result;
  result.capacity_bytes = options.capacity_bytes;
  result.parameters = options.parameters;
  result.objects = source.objects;
  result.hashes = source.hashes;
  result.directives = write_directives(source, best);
  result.expected = best.times.expected;
  result.expected.footprint_bytes = source.footprint_bytes();
  result.expected.minimum_bytes = minimum;
  result.expected.lower_bound_bytes = lower_bound_bytes(source, options.capacity_bytes);
  return result;
}

double forecast::gap() const noexcept {
  const std::uint64_t brought = loaded_bytes + expanded_bytes + encoded_bytes;
  if (lower_bound_bytes == 0) return brought == 0 ? 0 : std::numeric_limits<double>::infinity();
  return static_cast<double>(brought) / static_cast<double>(lower_bound_bytes) - 1;
}

}  // namespace halocline::memory::plan
