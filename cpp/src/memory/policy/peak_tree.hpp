// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halocline::memory {

/// Numbers at positions 0 to n - 1, all 0 at first: adds to a range and finds the largest of a range, each in
/// O(log n). Segment tree whose nodes keep what was added to all of their positions.
class peak_tree {
 public:
  explicit peak_tree(std::size_t positions)
      : leaves_(std::bit_ceil(std::max<std::size_t>(positions, 1))), nodes_(2 * leaves_) {}

  /// Adds `amount` to positions [begin, end).
  void add(std::size_t begin, std::size_t end, std::uint64_t amount) {
    add(1, 0, leaves_, begin, end, amount);
  }

  /// Largest number of positions [begin, end); 0 for none.
  [[nodiscard]] std::uint64_t peak(std::size_t begin, std::size_t end) const {
    return peak(1, 0, leaves_, begin, end);
  }

 private:
  struct node {
    std::uint64_t added = 0;    // to every position of the node
    std::uint64_t largest = 0;  // of its positions, with `added`, without what its ancestors added
  };

  void add(std::size_t at, std::size_t low, std::size_t high, std::size_t begin, std::size_t end,
           std::uint64_t amount) {
    if (end <= low || high <= begin) return;
    if (begin <= low && high <= end) {
      nodes_[at].added += amount;
      nodes_[at].largest += amount;
      return;
    }
    const std::size_t middle = (low + high) / 2;
    add(2 * at, low, middle, begin, end, amount);
    add(2 * at + 1, middle, high, begin, end, amount);
    nodes_[at].largest = nodes_[at].added + std::max(nodes_[2 * at].largest, nodes_[2 * at + 1].largest);
  }

  [[nodiscard]] std::uint64_t peak(std::size_t at, std::size_t low, std::size_t high, std::size_t begin,
                                   std::size_t end) const {
    if (end <= low || high <= begin) return 0;
    if (begin <= low && high <= end) return nodes_[at].largest;
    const std::size_t middle = (low + high) / 2;
    return nodes_[at].added +
           std::max(peak(2 * at, low, middle, begin, end), peak(2 * at + 1, middle, high, begin, end));
  }

  std::size_t leaves_;
  std::vector<node> nodes_;
};

}  // namespace halocline::memory
