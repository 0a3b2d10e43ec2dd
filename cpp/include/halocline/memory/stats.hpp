// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "halocline/memory/object_class.hpp"

namespace halocline::memory {

/// Counters of one runtime. All sizes in bytes; "live" is what buffers hold, without allocator slack.
struct stats {
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  /// Bytes held for re-use by the tier beyond what is live.
  std::size_t cached_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t live_buffers = 0;
  /// Steps (`runtime::acquire` calls) so far.
  std::uint64_t steps = 0;
  /// Largest sum of buffers that a single step pinned.
  std::size_t largest_step_bytes = 0;
  std::array<std::size_t, object_class_count> live_by_class{};
  std::array<std::size_t, object_class_count> peak_by_class{};
};

}  // namespace halocline::memory
