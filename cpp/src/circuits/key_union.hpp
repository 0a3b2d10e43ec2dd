// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "halocline/ckks/key_set.hpp"

namespace halocline::circuits::detail {

/// Collects key requests; of each element the highest level counts.
class key_union {
 public:
  void add(std::span<const ckks::key_request> requests) {
    for (const ckks::key_request& each : requests) {
      unsigned& level = levels_.try_emplace(each.galois_element, each.level).first->second;
      level = std::max(level, each.level);
    }
  }
  /// Ascending by Galois element.
  [[nodiscard]] std::vector<ckks::key_request> list() const {
    std::vector<ckks::key_request> result;
    for (const auto& [element, level] : levels_) result.push_back({element, level});
    return result;
  }

 private:
  std::map<std::uint64_t, unsigned> levels_;
};

}  // namespace halocline::circuits::detail
