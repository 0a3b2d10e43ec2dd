// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// Smallest block of an arena tier that is a mapping of its own, bytes.
inline constexpr std::size_t arena_mapping_bytes = std::size_t{128} << 10;

/// Blocks in DRAM: freed blocks are returned to the system, so the resident size of the process follows live
/// plus cached bytes. A block of 128 KiB or more is a mapping of its own, rounded up to 4096 bytes, and
/// begins at a huge page (2 MiB) when it is that large. Smaller blocks come from the heap and are not cached
/// here. Blocks of 4096 bytes or more are aligned to 4096, as direct I/O requires, others to 64.
///
/// Freed mappings are kept for re-use, up to `keep_bytes` in total, because a fresh mapping costs page faults
/// and a used one does not: for requests of their size, or of down to half of it, for which the rest goes
/// back to the system. Beyond `keep_bytes`, blocks of the size that has not been asked for or freed for the
/// longest time go back to the system.
[[nodiscard]] std::unique_ptr<tier> make_arena_tier(std::size_t keep_bytes);

}  // namespace halocline::memory
