// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/plan/next_use.hpp"

namespace halocline::memory::plan {

/// Set of numbers below a limit, kept as bits under a tree of summaries with 64 children per node (van Emde
/// Boas 1975, with fixed fan-out). As the number of a use is also its place in time, "the use furthest in the
/// future" is the largest member. A million uses take 130 KB, and no entry ever goes stale.
class use_set {
 public:
  /// Empty set of numbers below `limit`; memory is taken with the first member.
  explicit use_set(std::size_t limit = 0) : limit_(limit) {}

  [[nodiscard]] bool empty() const noexcept { return depth_ == 0 || top() == 0; }

  void insert(use_index value) {
    if (depth_ == 0) build();
    std::size_t at = value;
    for (unsigned level = 0; level < depth_; ++level, at >>= 6) {
      std::uint64_t& word = levels_[level][at >> 6];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << (at & 63);
      if (!was_empty) return;
    }
  }

  void erase(use_index value) noexcept {
    if (depth_ == 0) return;
    std::size_t at = value;
    for (unsigned level = 0; level < depth_; ++level, at >>= 6) {
      std::uint64_t& word = levels_[level][at >> 6];
      word &= ~(std::uint64_t{1} << (at & 63));
      if (word != 0) return;
    }
  }

  /// Largest member; `no_use` when the set is empty.
  [[nodiscard]] use_index last() const noexcept {
    return empty() ? no_use : descend(depth_ - 1, 63 - static_cast<std::size_t>(std::countl_zero(top())));
  }

  /// Largest member that is less than `bound`, which is below the limit; `no_use` when there is none.
  [[nodiscard]] use_index below(use_index bound) const noexcept {
    std::size_t at = bound;
    for (unsigned level = 0; level < depth_; ++level, at >>= 6) {
      const std::size_t word = at >> 6;
      const std::uint64_t lower = levels_[level][word] & ((std::uint64_t{1} << (at & 63)) - 1);
      if (lower != 0)
        return descend(level, word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(lower)));
    }
    return no_use;
  }

 private:
  static constexpr unsigned max_depth = 6;

  [[nodiscard]] std::uint64_t top() const noexcept { return levels_[depth_ - 1][0]; }

  void build() {
    std::size_t words = limit_;
    do {
      words = (words + 63) / 64;
      levels_[depth_++].assign(words, 0);
    } while (words > 1);
  }

  /// Largest member under bit `at` of a level.
  [[nodiscard]] use_index descend(unsigned level, std::size_t at) const noexcept {
    while (level-- > 0) at = at * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][at]));
    return static_cast<use_index>(at);
  }

  std::size_t limit_;
  unsigned depth_ = 0;
  std::array<std::vector<std::uint64_t>, max_depth> levels_;
};

}  // namespace halocline::memory::plan
