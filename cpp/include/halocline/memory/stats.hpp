// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "halocline/memory/object_class.hpp"

namespace halocline::memory {

/// What moved between the tiers since the runtime was made. Bytes are whole pages of 4096.
struct movement {
  std::uint64_t loads = 0;            ///< copies from the slow tier
  std::uint64_t loaded_bytes = 0;     ///< their bytes
  std::uint64_t written_bytes = 0;    ///< ciphertexts (under unified memory: anything) written back
  std::uint64_t populated_bytes = 0;  ///< first copies of keys, plaintexts and tables on the slow tier
  std::uint64_t expanded_bytes = 0;   ///< regenerated from seeds
  std::uint64_t encoded_bytes = 0;    ///< regenerated from coefficients
  std::uint64_t evictions = 0;        ///< frames taken away
  std::uint64_t prefetches = 0;       ///< loads that were under way or done when a step needed them
  std::uint64_t stall_ns = 0;         ///< steps waiting for transfers
  /// Expanding seeds and coefficients, on the host or on an accelerator's compute lane, as far as it is done.
  std::uint64_t regenerate_ns = 0;
  std::uint64_t divergences = 0;  ///< plans given up because the program did something else
  // Copies on the slow tier that turned out to be wrong or cut off.
  std::uint64_t repairs = 0;         ///< buffers that were made again from their sources
  std::uint64_t repaired_bytes = 0;  ///< their bytes
  std::uint64_t losses = 0;          ///< buffers that could not be: every use of them is an error
  std::uint64_t lost_bytes = 0;      ///< their bytes

  bool operator==(const movement&) const = default;
};

/// Counters of one runtime. All sizes in bytes; "live" is what buffers hold, without allocator slack, on
/// whatever tier.
struct stats {
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  /// Bytes held for re-use by the fast tier beyond what is in use.
  std::size_t cached_bytes = 0;
  /// Bytes of the fast tier in use or held for re-use, and their peak: never above the budget.
  std::size_t fast_bytes = 0;
  std::size_t peak_fast_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t live_buffers = 0;
  /// Steps (`runtime::acquire` calls) so far.
  std::uint64_t steps = 0;
  /// Largest sum of buffers that a single step pinned.
  std::size_t largest_step_bytes = 0;
  std::array<std::size_t, object_class_count> live_by_class{};
  std::array<std::size_t, object_class_count> peak_by_class{};
  movement moved{};
};

}  // namespace halocline::memory
