// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace halocline::test {

/// Which calls of one kind a fault strikes: `count` calls from number `first` on, counted from 1. first 0:
/// none.
struct fault_window {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  /// Whether call number `call` is struck.
  [[nodiscard]] constexpr bool contains(std::uint64_t call) const noexcept {
    return first != 0 && call >= first && call - first < count;
  }
};

/// What goes wrong with a store, and how slow it is.
struct fault_script {
  fault_window disk_full;    ///< calls of `allocate` that throw
  fault_window read_error;   ///< reads whose `wait` throws
  fault_window short_read;   ///< reads that end after about half of the bytes; `wait` throws
  fault_window write_error;  ///< writes whose `wait` throws
  /// Reads whose `wait` throws corrupt_data, as a store does that finds wrong bytes.
  fault_window damaged_read;
  /// Every transfer ends at least this much later than its link would let it.
  std::chrono::microseconds delay{0};
  /// Speed of the link, of each direction; 0: as fast as the inner store.
  std::uint64_t bytes_per_second = 0;
};

/// What a faulty store has done so far.
struct fault_counts {
  std::uint64_t allocations = 0;  ///< calls of `allocate`
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t disk_full = 0;
  std::uint64_t read_errors = 0;
  std::uint64_t short_reads = 0;
  std::uint64_t write_errors = 0;
  std::uint64_t damaged_reads = 0;
};

}  // namespace halocline::test
