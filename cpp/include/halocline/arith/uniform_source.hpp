// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace halocline {

/// How a seed becomes uniform residues: generator and sampling rule (`arith/uniform_stream.hpp` has the
/// words). The numbers are part of the container format. Seeds of every rule stay readable; new ones use the
/// last.
enum class stream_rule : std::uint32_t {
  chacha20_retry = 0,  ///< 20 rounds; each rejected candidate is drawn again at its own place
  chacha8_spare = 1,   ///< 8 rounds; a group of 16 blocks shares the words that replace rejected candidates
};

/// Whether a number of a file is one of `stream_rule`.
[[nodiscard]] constexpr bool is_stream_rule(std::uint32_t number) noexcept { return number <= 1; }

}  // namespace halocline

namespace halocline::arith {

/// 32-byte public seed of a uniform stream.
using seed_bytes = std::array<std::uint8_t, 32>;

/// Names one polynomial of a seeded uniform stream.
struct uniform_source {
  seed_bytes seed{};
  std::uint32_t stream = 0;  ///< number of the polynomial under this seed
  stream_rule rule = stream_rule::chacha8_spare;

  bool operator==(const uniform_source&) const = default;
};

}  // namespace halocline::arith
