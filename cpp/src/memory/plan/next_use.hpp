// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/memory/plan/program.hpp"

namespace halocline::memory::plan {

/// Number of a use in `program::uses`.
using use_index = std::uint32_t;
inline constexpr use_index no_use = ~use_index{0};

/// What the stages of the planner need to know of a program, found in one pass over it.
struct liveness {
  std::vector<use_index> next;         ///< per use: the next use of the same object, or `no_use`
  std::vector<step_index> step_of;     ///< per use
  std::vector<std::uint32_t> pages;    ///< per use: pages of the frame that it needs
  std::vector<std::uint8_t> opens;     ///< per use: 1 if it is the first use of its object
  std::vector<object_index> deaths;    ///< objects that are used and freed in the program, by `object::dead`
  std::vector<double> begin_ns;        ///< per step, and one more: when it begins if nothing ever waits
  std::vector<std::uint8_t> is_whole;  ///< per object: 1 if its frames always hold all of it
  std::vector<use_index> first;        ///< per object: its first use, or `no_use`
};

/// Computes all of it. Prefix frames are only for objects that were there before the program and that it only
/// reads, and neither for ciphertexts nor for scratch.
[[nodiscard]] liveness find_liveness(const program& source);

/// Objects cut into segments: runs of pages that their uses touch alike. A use touches the segments that
/// begin within its pages, so each segment has its own next use, never before the one of the segment below
/// it.
struct segment_table {
  std::vector<std::uint32_t> first;       ///< per object, and one more: its segments in `begin` and `end`
  std::vector<std::uint32_t> begin, end;  ///< per segment: its pages

  [[nodiscard]] std::uint32_t pages(std::uint32_t segment) const noexcept {
    return end[segment] - begin[segment];
  }
};

/// How objects are cut.
enum class cutting : std::uint8_t {
  none,     ///< one segment per object
  extents,  ///< at the distinct extents of its uses
};

/// Cuts objects. With `extents`, segments of prefix objects above `most_pages` are cut further, evenly: parts
/// of an object can then stay where the whole of it finds no room.
[[nodiscard]] segment_table cut_objects(const program& source, const liveness& lives, cutting how,
                                        std::uint64_t most_pages = ~std::uint64_t{0});

/// Whether the first touch of an object finds contents that have to be brought in.
[[nodiscard]] inline bool has_home(const object& each) noexcept {
  return each.preexisting && each.cls != object_class::scratch;
}

/// Pages that must be there at one step: operands, and live scratch. Fed step by step, in order.
class step_demand {
 public:
  step_demand(const program& source, const liveness& lives) : source_(source), lives_(lives) {}
  /// Pages of step `s`; to be called for each step once, in order.
  std::uint64_t advance(step_index s);

 private:
  const program& source_;
  const liveness& lives_;
  std::size_t next_death_ = 0;
  std::uint64_t scratch_pages_ = 0;
};

/// `minimum_capacity` in pages.
[[nodiscard]] std::uint64_t minimum_pages(const program& source, const liveness& lives);

/// `lower_bound_bytes` in pages.
[[nodiscard]] std::uint64_t lower_bound_pages(const program& source, const liveness& lives,
                                              std::uint64_t capacity_pages);

}  // namespace halocline::memory::plan
