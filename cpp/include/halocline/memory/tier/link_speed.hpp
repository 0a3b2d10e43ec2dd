// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// What a store's link does for one transfer at a time.
struct link_speed {
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  std::uint64_t read_latency_ns = 0;   ///< of a read of 4096 bytes
  std::uint64_t write_latency_ns = 0;  ///< of a write of 4096 bytes
};

/// Measures a link by writing and reading `bytes` bytes (4096 or more) of a slot that is freed again: once,
/// then again while `patience` lasts, at most three times; the best round counts, since other programs can
/// only make it slower. A disk of 1 GB/s takes 25 ms or less with the defaults; one round always runs to its
/// end.
/// @throws invalid_argument for fewer bytes.
/// @throws out_of_memory when there is no frame of this size.
/// @throws io_error when the store is full or a transfer fails; the slot is freed then too.
[[nodiscard]] link_speed measure_link(store& place, std::size_t bytes = std::size_t{4} << 20,
                                      std::chrono::milliseconds patience = std::chrono::milliseconds(15));

}  // namespace halocline::memory
