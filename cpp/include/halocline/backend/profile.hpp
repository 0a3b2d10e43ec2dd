// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halocline/backend/driver_counters.hpp"
#include "halocline/memory/trace_formats/perfetto.hpp"

namespace halocline::backend {

/// Time of all calls of one kernel within one operation.
struct profile_row {
  std::string operation;  ///< names of `scoped_operation` from the outside in: "multiply_values/rescale"
  std::string op;         ///< ring-level operation: "ntt"
  std::string kernel;     ///< kernel of a device, or empty where operations are timed as a whole
  std::uint64_t calls = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t shortest_ns = 0;
  std::uint64_t longest_ns = 0;
};

/// What a backend did between `backend::start_profile` and `backend::stop_profile`.
struct profile {
  std::string device;                ///< name of the backend
  bool kernels = false;              ///< whether rows are kernels, timed by the device, or whole operations
  std::uint64_t wall_ns = 0;         ///< from start to stop
  std::uint64_t timer_ns = 0;        ///< what two marks with nothing between them measure: bias of each call
  std::vector<profile_row> rows;     ///< the longest total first
  memory::timeline timeline;         ///< tracks "operations", "ring operations" and, on devices, "kernels"
  std::uint64_t spans_left_out = 0;  ///< of the timeline, when it grew too long; rows have them all
  driver_counters driver;            ///< calls in that time

  /// Sum of all rows.
  [[nodiscard]] std::uint64_t total_ns() const noexcept;
  /// Time of number-theoretic transforms, in either direction and fused ones included.
  [[nodiscard]] std::uint64_t ntt_ns() const noexcept;
};

}  // namespace halocline::backend
