// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/core/json.hpp"

namespace halocline::bench {

/// The ratio experiment: how it is run.
struct sweep_options {
  std::size_t budget = std::size_t{128} << 20;  ///< memory of the card that is imitated
  unsigned repetitions = 2;                     ///< of each configuration; the fastest counts
  bool oversubscribe = false;                   ///< take all other memory away instead of pushing pages out
};

/// One row for each oversubscription and share of asynchronous memory: seconds of allocation, copies,
/// additions, butterflies and frees.
[[nodiscard]] json::array run_sweep(const sweep_options& options);

/// One row for each method of allocation and size: microseconds of allocation, first touch and free.
[[nodiscard]] json::array run_allocations();

}  // namespace halocline::bench
