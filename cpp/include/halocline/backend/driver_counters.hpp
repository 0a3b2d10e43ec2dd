// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline::backend {

/// Counts calls of this process to a device's driver that block or may block. All zeros without a device. In
/// steady state a program that moves no bytes changes none of the first five.
struct driver_counters {
  std::uint64_t device_waits = 0;  ///< waits for everything on a device
  std::uint64_t stream_waits = 0;  ///< waits for one stream: downloads, ends of profiles
  std::uint64_t event_waits = 0;   ///< waits for one mark: bytes that a step needs and that are on their way
  std::uint64_t allocations = 0;   ///< blocking allocations: device, pinned and managed memory, new pools
  std::uint64_t frees = 0;         ///< blocking frees, and pools that give memory back to the driver
  std::uint64_t pool_allocations = 0;  ///< stream-ordered, never wait
  std::uint64_t pool_frees = 0;        ///< stream-ordered, never wait

  /// Calls between two moments.
  [[nodiscard]] driver_counters operator-(const driver_counters& before) const noexcept {
    return {device_waits - before.device_waits,
            stream_waits - before.stream_waits,
            event_waits - before.event_waits,
            allocations - before.allocations,
            frees - before.frees,
            pool_allocations - before.pool_allocations,
            pool_frees - before.pool_frees};
  }
  bool operator==(const driver_counters&) const = default;
};

}  // namespace halocline::backend
