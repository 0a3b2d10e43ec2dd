// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/timing.hpp"

namespace halocline::bench {

/// A timing of an operation of private retrieval.
struct level_row {
  std::string set;      ///< parameters: "n2048", "n4096", "paper"
  std::string op;       ///< "expand", "expand_last", "select", "select_2", "select_3" (bits), "row_select"
  std::string variant;  ///< kernels
  std::uint32_t batch;  ///< clients or queries
  std::uint32_t size;   ///< of one: children, pairs, results of several bits, or columns
  timing time;
  double bytes;  ///< that must be moved at least
  double mads;   ///< multiplications of the transforms and multiply-adds of the products
};

/// Times levels of expansions and selections with one operation for each primitive and with fused kernels,
/// two and three levels of selections at once, last levels that turn, and sums over rows with each kernel.
/// Needs a card with 64 GiB.
/// @param set "n2048", "n4096" or "paper"
[[nodiscard]] std::vector<level_row> time_levels(const std::string& set);

/// Writes them as JSON.
/// @param driver its version
void write_levels(const std::string& file, const std::string& driver, const std::vector<level_row>& rows);

}  // namespace halocline::bench
