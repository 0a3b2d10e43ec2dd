// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halocline::memory::sim {

/// Which key leaves a full cache of keys of one size.
enum class key_replacement : std::uint8_t {
  fifo,  ///< the one that came first
  lru,   ///< the one whose last use is the oldest
  min,   ///< the one whose next use is the farthest (Belady 1966, optimal)
};

/// Look-ahead of `key_replacement::min` that sees the whole sequence.
inline constexpr std::size_t whole_sequence = ~std::size_t{0};

/// Loads that a sequence of uses causes in a cache that is empty at first. A use of a key that is not there
/// loads it; no key passes by the cache. O(uses * capacity).
/// @param keys numbers of the keys in the order of their use
/// @param capacity keys that the cache holds; at least 1
/// @param look_ahead for `min`: how many uses after the present one are known. Of the keys without a known
/// use
///   the one that was used the longest ago leaves.
/// @throws invalid_argument when the capacity is 0.
[[nodiscard]] std::uint64_t key_loads(std::span<const std::uint64_t> keys, std::size_t capacity,
                                      key_replacement rule, std::size_t look_ahead = whole_sequence);

}  // namespace halocline::memory::sim
