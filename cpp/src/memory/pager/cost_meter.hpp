// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/plan/cost_model.hpp"
#include "halocline/memory/stats.hpp"
#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// Measures how long operations take while a runtime works: least squares of time over bytes per operation.
class cost_meter {
 public:
  /// Number of an operation, for `add`.
  [[nodiscard]] std::size_t number_of(std::string_view op);
  /// One step of an operation that touched `bytes` took `ns`.
  void add(std::size_t op, double bytes, double ns);
  /// How often an operation was measured.
  [[nodiscard]] double samples(std::size_t op) const noexcept { return operations_[op].count; }
  /// Begins anew. Numbers stay valid: steps that are under way still carry them.
  void forget() noexcept { std::fill(operations_.begin(), operations_.end(), sums{}); }
  /// What was measured so far; for other operations the mean of all, and `base` where nothing was measured.
  [[nodiscard]] plan::cost_model costs(const plan::cost_model& base) const;

 private:
  struct sums {
    double count = 0, bytes = 0, square = 0, ns = 0, product = 0;
  };
  [[nodiscard]] static plan::linear_cost fit(const sums& of);

  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<sums> operations_;
};

/// Speed of a link from the counters of its store, where enough was moved; `base` otherwise.
/// @param lateness how much later reads arrive than the link's busy time says
void refine_links(plan::cost_model& base, const store_stats& moved, double lateness = 1);

}  // namespace halocline::memory
