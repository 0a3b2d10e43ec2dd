// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/arith/arith.hpp"

/// Order of the work of the joined kernel (ntt_joined.hpp), for host and device.
namespace halocline::backend::cuda {

/// Threads of a block, in both phases.
inline constexpr unsigned joined_log_threads = 8;

/// What a block of the joined kernel does: block `block` of one phase of a limb.
struct joined_item {
  std::uint32_t limb, block;
  bool second;
};

/// Item of block `b` of the grid. A phase of a limb has 2^log_blocks items. First comes the first phase of
/// `lead` limbs; then items of the second phase and of the first phase of the limb `lead` limbs on take
/// turns; then comes the rest of the second phase. Cards start blocks in the order of their numbers, and no
/// item waits for one with a higher number: a block that waits, waits for blocks that run or have ended.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline joined_item item_of(std::uint32_t b, unsigned log_blocks,
                                                               std::uint32_t limbs, std::uint32_t lead) {
  const std::uint32_t alone = lead << log_blocks, mixed = (limbs - lead) << log_blocks;
  const std::uint32_t mask = (1U << log_blocks) - 1;
  if (b < alone) return {b >> log_blocks, b & mask, false};
  const std::uint32_t rest = b - alone;
  const bool in_turns = rest < 2 * mixed, second = !in_turns || rest % 2 != 0;
  const std::uint32_t item = in_turns ? rest / 2 : rest - mixed;
  return {(item >> log_blocks) + (second ? 0 : lead), item & mask, second};
}

}  // namespace halocline::backend::cuda
