// SPDX-License-Identifier: Apache-2.0
#pragma once

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
