// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/trace.hpp"

namespace halocline::memory {

/// One allocation of a recorded run.
struct lifetime {
  std::uint64_t begin_ns = 0;  ///< trace time of the allocation
  std::uint64_t end_ns = 0;    ///< trace time of the free; of the last event when it was never freed
  std::uint64_t bytes = 0;
  std::uint64_t end_ordinal = 0;  ///< allocations before the free; of the whole trace when never freed
  object_class cls{};
  bool freed = false;

  /// Seconds from allocation to free.
  [[nodiscard]] double seconds() const noexcept { return static_cast<double>(end_ns - begin_ns) * 1e-9; }
  bool operator==(const lifetime&) const = default;
};

/// Lifetimes of all allocations of a trace, by ordinal. Buffers that were there before have no ordinal and
/// are left out.
/// @throws corrupt_data when an id is allocated twice, freed without having been there, or time runs back.
[[nodiscard]] std::vector<lifetime> lifetimes_of(const trace& recorded);

/// Thresholds of the profiling scheme (hybrid paper, section III-C).
struct profile_options {
  double lifetime_limit_s = 1;  ///< N: only allocations that live for less than this go to the pool
  /// Async peak threshold: the pool never holds more than this. The paper's best ratios are 0.4 to 0.65 of
  /// the device memory.
  std::uint64_t pool_peak_bytes = ~std::uint64_t{0};
};

/// Decides for every allocation of a recorded run whether it goes to the pool (1) or is managed (0): in
/// ascending order of lifetime, ties by ordinal, each one that lives shorter than the limit and does not
/// raise the peak of the pool above the threshold at any time. Allocations that were never freed are managed.
/// O(n log n) for n allocations.
/// @throws corrupt_data as `lifetimes_of`; invalid_argument when the lifetime limit is negative or not a
/// number.
[[nodiscard]] std::vector<std::uint8_t> make_decisions(const trace& recorded, const profile_options& options);

/// Decision file: the line `halocline decisions 1,<allocations>`, the line `ordinal,decision`, then one line
/// per allocation.
[[nodiscard]] std::string decisions_to_text(std::span<const std::uint8_t> decisions);

/// Any number of allocations: see `decisions_from_text`.
inline constexpr std::uint64_t any_allocation_count = ~std::uint64_t{0};

/// Parses what `decisions_to_text` wrote.
/// @throws corrupt_data naming the line when the text is anything else.
/// @throws invalid_argument when `allocations` is given and the file was made from another number: it belongs
///   to another program.
[[nodiscard]] std::vector<std::uint8_t> decisions_from_text(std::string_view source,
                                                            std::uint64_t allocations = any_allocation_count);

}  // namespace halocline::memory
