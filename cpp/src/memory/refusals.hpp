// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/stats.hpp"

namespace halocline::memory {

struct buffer_state;

/// The words in which a runtime refuses bytes: what was asked for, what holds the rest, and what would do.
struct refusals {
  const runtime_options& options;
  const memory_budget& budget;
  const stats& counters;
  const std::vector<buffer_state*>& live;

  /// An allocation that does not fit.
  /// @param counted bytes of this runtime that stand in its way, with those that are wanted
  /// @param waited what was waited for in vain; empty: nothing
  [[nodiscard]] std::string of_allocation(const buffer_state& wanted, std::size_t counted,
                                          const std::string& waited) const;
  /// Bytes that the operating system or the driver does not have.
  [[nodiscard]] std::string by_system(std::size_t bytes, std::string_view what) const;
  /// A step whose operands do not fit beside the scratch of other steps.
  [[nodiscard]] std::string of_step(std::string_view op, std::size_t operands, std::size_t scratch) const;
};

}  // namespace halocline::memory
