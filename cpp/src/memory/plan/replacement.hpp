// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/memory/plan/planner.hpp"
#include "memory/plan/next_use.hpp"

namespace halocline::memory::plan {

/// Number of a stay in the result of `choose_stays`.
using stay_index = std::uint32_t;
inline constexpr stay_index no_stay = ~stay_index{0};

/// One stay of a segment of an object in the fast tier, from one step that uses it to the last one that does
/// before its frame is given up. Without `planner_options::allow_resize` every object is one segment, whose
/// `pages` differ from stay to stay.
struct stay {
  object_index target = 0;
  std::uint32_t begin = 0;        ///< first page
  std::uint32_t pages = 0;        ///< of its frame
  step_index first = 0;           ///< step that needs it first
  step_index last = 0;            ///< last step that uses it
  step_index until = 0;           ///< first step that does not count on the frame
  stay_index previous = no_stay;  ///< of the same segment
  stay_index below = no_stay;     ///< of the segment below it, at step `first`
  bool loads = false;             ///< has contents to bring in; otherwise it begins with a write
  bool stores = false;            ///< its contents must be written back at its end
  bool drops = false;             ///< ends before its object is freed: needs a directive
  bool is_gone = false;           ///< joined with the stay before it

  [[nodiscard]] std::uint32_t end() const noexcept { return begin + pages; }
};

/// How victims are chosen. Costs are nanoseconds per page.
struct victim_rules {
  std::uint64_t capacity_pages = 0;
  bool by_time = false;  ///< value recovery by its time; otherwise by its bytes alone
  /// Take a victim that has been idle for as long as its replacement takes to load, if its next use is at
  /// least this fraction of the furthest one away; 1: never.
  double near_equal = 1;
  /// What regenerating counts at least, `by_time`, as a share of loading: loads on an idle link cost nothing,
  /// while regeneration occupies the compute units.
  double least_share = 0;
  /// What a write-back counts against a load of as many bytes: no step waits for it.
  double write_weight = 0.1;
};

/// Pages of each object that are in the fast tier when the program begins, by `planner_options::resident`.
[[nodiscard]] std::vector<std::uint32_t> pages_held(const program& source, const planner_options& options);
/// Whether the next run of the program finds what this one leaves of an object: keys, plaintexts and tables
/// with an identity, which it only reads.
[[nodiscard]] bool comes_again(const program& source, const liveness& lives, object_index target);
/// Pages of such objects that are in the fast tier when the program ends.
[[nodiscard]] std::vector<std::uint32_t> pages_left(const program& source, const liveness& lives,
                                                    const std::vector<stay>& stays);

/// Replacement: which objects are in the fast tier when. Belady's rule, weighted with costs: on overflow the
/// victim is the frame whose recovery costs least per page and time until its next use. The sum of frames of
/// a step never exceeds the capacity, which must be at least `minimum_capacity`. Objects that the next run
/// finds count as used again right after the end of the program.
/// @param cut segments; one per object without `allow_resize`
/// @param held pages of each object that are there when the program begins
/// @return stays in the order of `first`, those of one object at one step from the first page up
[[nodiscard]] std::vector<stay> choose_stays(const program& source, const liveness& lives,
                                             const segment_table& cut, const planner_options& options,
                                             const victim_rules& rules, std::span<const std::uint32_t> held);

/// The stay that a joined one has become part of.
[[nodiscard]] stay_index joined(const std::vector<stay>& stays, stay_index at) noexcept;

}  // namespace halocline::memory::plan
