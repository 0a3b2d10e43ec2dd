// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halocline/memory/plan/program.hpp"

namespace halocline::memory::plan {

/// Free pages at each step, with sums over ranges of steps: a segment tree that keeps minima and pending
/// additions (Bentley 1977). Every call takes O(log steps).
class room_tree {
 public:
  /// Room of each step.
  explicit room_tree(const std::vector<std::int64_t>& room);

  /// Adds pages to the steps [begin, end).
  void add(step_index begin, step_index end, std::int64_t pages);
  /// Least room of the steps [begin, end); very large for an empty range.
  [[nodiscard]] std::int64_t least(step_index begin, step_index end) const;
  /// First step of the longest run of steps that ends at `end` (exclusive), does not begin before `begin`,
  /// and has room for `pages` everywhere; `end` when there is no such step.
  [[nodiscard]] step_index earliest(step_index begin, step_index end, std::int64_t pages) const;
  /// First step in [begin, end) without room for `pages`; `end` when there is none.
  [[nodiscard]] step_index first_short(step_index begin, step_index end, std::int64_t pages) const;

 private:
  struct node {
    std::int64_t least = 0;  ///< of the steps below it, with `added`, without what is added above it
    std::int64_t added = 0;
  };
  struct range {
    std::size_t at, begin, end;  ///< a node and the steps that it stands for
    [[nodiscard]] range left() const { return {2 * at, begin, (begin + end) / 2}; }
    [[nodiscard]] range right() const { return {2 * at + 1, (begin + end) / 2, end}; }
  };
  static constexpr std::size_t none = ~std::size_t{0};

  void add(const range& here, std::size_t begin, std::size_t end, std::int64_t pages);
  [[nodiscard]] std::int64_t least(const range& here, std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::size_t last_short(const range& here, std::size_t begin, std::size_t end,
                                       std::int64_t pages) const;
  [[nodiscard]] std::size_t next_short(const range& here, std::size_t begin, std::size_t end,
                                       std::int64_t pages) const;

  std::size_t leaves_ = 1;
  std::vector<node> nodes_;  ///< 1 is the root, the children of i are 2 i and 2 i + 1
};

}  // namespace halocline::memory::plan
