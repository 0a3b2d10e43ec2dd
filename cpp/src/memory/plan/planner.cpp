// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/planner.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/plan/bridge.hpp"
#include "memory/plan/chain_model.hpp"
#include "memory/plan/replacement.hpp"
#include "memory/plan/schedule.hpp"

namespace halocline::memory::plan {
namespace {

/// One complete solution: which objects are resident when, and when they are loaded.
struct solution {
  victim_rules rules;
  std::vector<std::uint32_t> held;  ///< pages of each object that are there when the program begins
  std::vector<stay> stays;
  std::vector<arrival> arrivals;
  timetable times;
};

/// Timetable with the best choice between loading and regenerating.
timetable best_timetable(const program& source, const liveness& lives, const solution& from,
                         const room_tree& room, const planner_options& options) {
  constexpr int passes = 4;
  scheduler schedule(source, lives, from.stays, from.arrivals, options, from.held);
  std::vector<std::uint8_t> regenerates(from.arrivals.size());
  for (std::uint32_t i = 0; i < regenerates.size(); ++i) regenerates[i] = schedule.must_regenerate(i) ? 1 : 0;
  timetable best = schedule.run(room, regenerates);
  for (int i = 0; i < passes && choose_regenerations(schedule, regenerates); ++i) {
    timetable next = schedule.run(room, regenerates);
    if (next.expected.total_ns < best.expected.total_ns) best = std::move(next);
  }
  return best;
}

solution solve(const program& source, const liveness& lives, const segment_table& cut,
               const planner_options& options, const victim_rules& rules) {
  constexpr int most_rounds = 4;
  solution result;
  result.rules = rules;
  result.held = pages_held(source, options);
  result.stays = choose_stays(source, lives, cut, options, rules, result.held);
  for (int i = 0; options.steady && i < most_rounds; ++i) {
    std::vector<std::uint32_t> left = pages_left(source, lives, result.stays);
    if (left == result.held) break;
    result.held = std::move(left);
    result.stays = choose_stays(source, lives, cut, options, rules, result.held);
  }
  room_tree room(room_of(source, result.stays, options.capacity_bytes / page_bytes));
  bridge_gaps(result.stays, room);
  result.arrivals = find_arrivals(source, result.stays);
  result.times = best_timetable(source, lives, result, room, options);
  return result;
}

/// A directive with its place in the list.
struct entry {
  step_index before = 0;
  std::uint32_t rank = 0;
  directive what;
};

/// Ends of stays. Where several segments of an object end at once, the lowest one says what is left of its
/// frame.
std::vector<entry> list_ends(const program& source, const std::vector<stay>& stays) {
  std::vector<stay_index> ends;
  for (stay_index i = 0; i < stays.size(); ++i) {
    if (!stays[i].is_gone && stays[i].drops && stays[i].until < source.steps()) ends.push_back(i);
  }
  std::sort(ends.begin(), ends.end(), [&](stay_index a, stay_index b) {
    const stay &x = stays[a], &y = stays[b];
    return std::tie(x.until, x.target, x.begin, a) < std::tie(y.until, y.target, y.begin, b);
  });
  std::vector<entry> list;
  for (const stay_index i : ends) {
    const stay& each = stays[i];
    if (!list.empty() && list.back().before == each.until && list.back().what.target == each.target) continue;
    const verb action = each.begin != 0 ? verb::shrink : each.stores ? verb::write_back : verb::drop;
    const std::uint32_t pages = each.begin != 0 ? each.begin : each.pages;
    list.push_back({each.until, 0, {each.until, each.target, pages, action}});
  }
  return list;
}

/// Directives in the order of execution. Before one step: frames are given up, then what the step itself
/// needs is loaded, then regenerated, then what later steps need is loaded.
std::vector<directive> write_directives(const program& source, const solution& from) {
  std::vector<entry> list = list_ends(source, from.stays);
  for (std::size_t i = 0; i < from.arrivals.size(); ++i) {
    const arrival& each = from.arrivals[i];
    const bool is_expanded = source.objects[each.target].comes_back == recovery::expand;
    const verb regenerate = is_expanded ? verb::expand : verb::encode;
    const step_index before = from.times.issue[i];
    if (from.times.regenerates[i] != 0) {
      list.push_back({before, 2, {before, each.target, each.end, regenerate}});
    } else {
      list.push_back({before, before == each.need ? 1U : 3U, {before, each.target, each.end, verb::load}});
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const entry& a, const entry& b) {
    return std::tie(a.before, a.rank) < std::tie(b.before, b.rank);
  });
  std::vector<directive> result;
  result.reserve(list.size());
  for (const entry& each : list) result.push_back(each.what);
  return result;
}

/// Whether regeneration is much cheaper than loading, as on accelerators.
bool regenerates_cheaply(const cost_model& costs) {
  return costs.weight_of(costs.expand) < 1 || costs.weight_of(costs.encode) < 1;
}

/// Victims whose next use is at least a quarter as far away as that of the best one cost few more bytes, but
/// leave time for loads.
constexpr double usual_near_equal = 0.25;

/// Ways to choose victims, the one that moves fewest bytes first.
std::vector<victim_rules> rules_to_try(const program& source, const planner_options& options) {
  victim_rules rules;
  rules.capacity_pages = options.capacity_bytes / page_bytes;
  std::vector<victim_rules> list{rules};
  rules.near_equal = usual_near_equal;
  list.push_back(rules);
  const auto regenerates = [&](const object& each) {
    return (each.comes_back == recovery::expand && options.allow_expand) ||
           (each.comes_back == recovery::encode && options.allow_encode);
  };
  if (std::ranges::none_of(source.objects, regenerates)) return list;
  rules.by_time = true;
  list.push_back(rules);
  if (!regenerates_cheaply(options.costs)) return list;
  for (const double share : {0.25, 0.5, 0.75}) {
    rules.least_share = share;
    list.push_back(rules);
  }
  return list;
}

/// The same choice with more or less time for loads.
std::vector<victim_rules> neighbours_of(victim_rules rules) {
  std::vector<victim_rules> list;
  for (const double near : {1.0, 0.5, 0.1}) {
    rules.near_equal = near;
    list.push_back(rules);
  }
  return list;
}

std::uint64_t brought_bytes(const forecast& from) {
  return from.loaded_bytes + from.expanded_bytes + from.encoded_bytes;
}

/// Segments that frames can hold. They are small against the capacity, so that little of it is left over when
/// no further segment fits, but not so small that the fixed cost of their transfers would count.
segment_table cut_for(const program& source, const liveness& lives, const planner_options& options) {
  constexpr double parts_of_capacity = 100, most_overhead = 0.1;
  if (!options.allow_resize) return cut_objects(source, lives, cutting::none);
  const linear_cost& load = options.costs.load;
  const double fair = static_cast<double>(options.capacity_bytes) / parts_of_capacity;
  const double cheap = load.fixed_ns / (most_overhead * std::max(load.ns_per_byte, 1e-9));
  return cut_objects(source, lives, cutting::extents,
                     1 + static_cast<std::uint64_t>(std::min(std::max(fair, cheap) / page_bytes, 1e9)));
}

/// Whether a run loads hardly more than the lower bound.
bool is_lean(const forecast& from, std::uint64_t bound) {
  constexpr double most_bytes = 1.05;
  return static_cast<double>(brought_bytes(from)) <= most_bytes * static_cast<double>(bound);
}

/// Least bytes that a program loads which begins with `held`, if it loads `needed_pages` without.
std::uint64_t bound_of(std::span<const std::uint32_t> held, std::uint64_t needed_pages) {
  const std::uint64_t there = std::accumulate(held.begin(), held.end(), std::uint64_t{0});
  return (needed_pages - std::min(needed_pages, there)) * page_bytes;
}

/// Whether a run is better than another one: the faster one of two lean ones, or the leaner one. Where
/// regeneration is nearly free the number of bytes matters little, and the faster one is better.
bool is_better(const solution& next, const solution& best, const cost_model& costs,
               std::uint64_t needed_pages) {
  const forecast &one = next.times.expected, &other = best.times.expected;
  const bool is_faster = one.total_ns < other.total_ns;
  if (regenerates_cheaply(costs)) return is_faster;
  if (!is_lean(one, bound_of(next.held, needed_pages))) return brought_bytes(one) < brought_bytes(other);
  return is_faster || !is_lean(other, bound_of(best.held, needed_pages));
}

/// Tries ways to choose victims until the program hardly waits, and keeps the best run.
solution find_best(const program& source, const liveness& lives, const planner_options& options,
                   std::uint64_t needed_pages) {
  constexpr double good_enough = 1.005, little = 0.02;
  constexpr std::size_t most_work = 12'000'000;  // uses looked at: planning takes seconds at most
  const segment_table cut = cut_for(source, lives, options);
  const std::vector<victim_rules> list = rules_to_try(source, options);
  solution best = solve(source, lives, cut, options, list[0]);
  const std::size_t work_of_one = (options.steady ? 3 : 1) * source.uses.size();
  std::size_t work = 2 * work_of_one;
  const auto attempt = [&](const victim_rules& rules) {
    solution next = solve(source, lives, cut, options, rules);
    if (is_better(next, best, options.costs, needed_pages)) best = std::move(next);
    work += work_of_one;
  };
  const auto waits = [&] {
    return best.times.expected.total_ns > good_enough * lives.begin_ns.back() && work <= most_work;
  };
  for (std::size_t i = 1; i < list.size() && waits(); ++i) attempt(list[i]);
  if (regenerates_cheaply(options.costs)) {
    for (const victim_rules& each : neighbours_of(best.rules)) {
      if (waits()) attempt(each);
    }
  }
  if (!is_lean(best.times.expected, bound_of(best.held, needed_pages)) && work <= most_work) {
    victim_rules rules = list[0];
    rules.write_weight = little;
    attempt(rules);
  }
  return best;
}

/// Bytes that must come from the last link: no nearer tier has them, nor the fast one, when the program
/// begins.
std::uint64_t least_remote_bytes(const program& source, const planner_options& options,
                                 std::span<const std::uint32_t> held) {
  const chain_model begin(source, options);
  std::vector<std::uint32_t> pages(source.objects.size());
  for (const use& each : source.uses) {
    if (each.reads) pages[each.target] = std::max(pages[each.target], each.pages);
  }
  std::uint64_t sum = 0;
  for (object_index i = 0; i < pages.size(); ++i) {
    if (begin.is_far(i, pages[i])) sum += pages[i] - std::min(pages[i], held[i]);
  }
  return sum * page_bytes;
}

}  // namespace

plan make_plan(const program& source, const planner_options& options) {
  HALOCLINE_EXPECTS(options.links.size() != 1, invalid_argument,
                    "make_plan: a chain of one link; expected none, or a near one and a remote one");
  const liveness lives = find_liveness(source);
  const std::uint64_t capacity = options.capacity_bytes / page_bytes;
  const std::uint64_t minimum = minimum_pages(source, lives) * page_bytes;
  HALOCLINE_EXPECTS(capacity * page_bytes >= minimum, out_of_memory, "cannot plan for ",
                    format_bytes(options.capacity_bytes), " (", options.capacity_bytes,
                    " bytes): the largest step of the program needs at least ", format_bytes(minimum), " (",
                    minimum, " bytes)");
  const std::uint64_t needed = lower_bound_pages(source, lives, capacity);
  planner_options within = options;
  within.capacity_bytes -= std::min(options.loose_bytes, capacity * page_bytes - minimum);
  const solution best = find_best(source, lives, within, needed);
  plan result;
  result.capacity_bytes = options.capacity_bytes;
  result.parameters = options.parameters;
  result.objects = source.objects;
  result.hashes = source.hashes;
  result.directives = write_directives(source, best);
  result.expected = best.times.expected;
  result.expected.footprint_bytes = source.footprint_bytes();
  result.expected.minimum_bytes = minimum;
  result.expected.lower_bound_bytes = bound_of(best.held, needed);
  if (!options.links.empty())
    result.expected.links.back().least_bytes = least_remote_bytes(source, options, best.held);
  return result;
}

double forecast::gap() const noexcept {
  const std::uint64_t brought = brought_bytes(*this);
  if (lower_bound_bytes == 0) return brought == 0 ? 0 : std::numeric_limits<double>::infinity();
  return static_cast<double>(brought) / static_cast<double>(lower_bound_bytes) - 1;
}

double forecast::bound_ns(std::string* by) const {
  double bound = resident_ns;
  std::string reason = "compute";
  double rate = 0;  // bytes per nanosecond of all links
  for (const link_forecast& each : links) {
    if (each.ns_per_byte > 0) rate += 1 / each.ns_per_byte;
    const double alone = static_cast<double>(each.least_bytes) * each.ns_per_byte;
    if (alone <= bound) continue;
    bound = alone;
    reason = each.name;
  }
  // What is regenerated crosses no link.
  const bool regenerates = expanded_bytes + encoded_bytes != 0;
  if (rate > 0 && !regenerates && static_cast<double>(lower_bound_bytes) / rate > bound) {
    bound = static_cast<double>(lower_bound_bytes) / rate;
    reason = "links";
  }
  if (by != nullptr) *by = reason;
  return bound;
}

}  // namespace halocline::memory::plan
