// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "halocline/memory/plan/plan.hpp"

namespace halocline::memory::plan {

/// Where the contents of an object are when the program begins, besides the fast tier.
struct whereabouts {
  /// Bytes, counted from the begin, of which each link has a copy, nearest tier first. An entry that is
  /// missing, as all of them for other objects, stands for: all of them at the last link but the remote one.
  std::vector<std::uint64_t> copies;
};

/// What the planner may do and for which device.
struct planner_options {
  std::uint64_t capacity_bytes = 0;  ///< frames of the fast tier
  /// Part of the capacity that is kept free as far as the minimum allows, because a load into a full tier has
  /// to move pages or frames.
  std::uint64_t loose_bytes = 0;
  cost_model costs;
  bool allow_expand = true;    ///< expand seeds where that is cheaper than loading
  bool allow_encode = true;    ///< re-encode plaintexts where that is cheaper
  bool allow_truncate = true;  ///< load only the pages that are needed until the next eviction
  /// Frames of prefixes can grow and shrink in place (`verb::shrink`; `verb::load` on an object that has a
  /// frame). A key that is used at several levels then costs no more than the pages that each use lacks.
  bool allow_resize = false;
  /// How far ahead of its need a load may start, as time of the program; longer holds frames for longer.
  double horizon_ns = 400e6;
  /// Bytes, counted from the begin, that are in the fast tier when the program begins, by `object::identity`.
  /// The plan keeps what it has room for until it is needed; a run that begins without them loads them first.
  std::map<std::uint64_t, std::uint64_t> resident;
  /// The program runs repeatedly: begin with the objects that the plan itself leaves in the fast tier at its
  /// end instead of with `resident`. Only the first run then loads these before its first step.
  bool steady = false;
  std::string parameters;  ///< copied into the plan
  /// Links of a chain of tiers, nearest first, the last one remote; empty: one link with `costs.load`.
  std::vector<link> links;
  /// With `links`: objects that have remote contents, by `object::identity`.
  std::map<std::uint64_t, whereabouts> remote;
  /// Objects, by identity, whose recipe is the only way to have their contents: they are always regenerated.
  std::set<std::uint64_t> made;
};

/// Smallest capacity for which a plan exists: the largest sum of pages that one step needs at once, operands
/// plus live scratch.
[[nodiscard]] std::uint64_t minimum_capacity(const program& source);

/// Fewest bytes that any schedule must bring into a fast tier of that capacity: Belady's rule on single pages
/// (Belady 1966; for one size and one cost it is optimal), so a relaxation of whole objects.
[[nodiscard]] std::uint64_t lower_bound_bytes(const program& source, std::uint64_t capacity_bytes);

/// Replacement (cost-aware Belady), choice among load, expand, truncate and encode, and a time-based schedule
/// with one calendar per direction.
/// @throws out_of_memory that states the minimum when the capacity is below it.
[[nodiscard]] plan make_plan(const program& source, const planner_options& options);

}  // namespace halocline::memory::plan
