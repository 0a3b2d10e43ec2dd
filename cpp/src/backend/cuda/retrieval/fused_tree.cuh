// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/fused_node.cuh"

/// Blocks that select by several bits.
namespace halocline::backend::cuda {

/// The lowest `bits` bits of x (at most 2) in reverse order.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t fused_reverse(std::uint32_t x, unsigned bits) {
  static_assert(most_tree_bits == 3);
  return bits == 2 ? (x & 1) << 1 | x >> 1 : x;
}

/// `select_tree` of a block's result, depth first: of two siblings, the result of the first one takes the
/// place of its own first ciphertext in device memory, where it is written again before it leaves the
/// second-level cache, and that of the second one is used at once. It stays in shared memory where there is
/// room (`fused_params::inner`).
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_select_tree(const fused_block<ShapeT>& on, TeamT& team) {
  const fused_job& job = on.job;
  const std::uint32_t pairs = 1U << (job.bits - 1), terms = 2 * on.p.limbs * on.p.digits;
  const auto slot = [&](std::uint32_t m) {
    return job.src.data + static_cast<std::size_t>(on.node + m * job.kept) * job.src.stride;
  };
  HALOCLINE_NO_UNROLL
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const std::uint32_t first = fused_reverse(pair, job.bits - 1) + pairs;
    // What the next selection takes as y; one of the first bit may be without a partner.
    bool there = on.node + first * job.kept < job.columns;
    std::uint32_t* last = slot(first);
    HALOCLINE_NO_UNROLL
    for (unsigned level = 0; level < job.bits; ++level) {
      const std::uint32_t number = pair >> level;
      const bool is_second = (number & 1) != 0;
      std::uint32_t* const x = slot(fused_reverse(number, job.bits - 1 - level));
      std::uint32_t* const dst = is_second && on.p.inner ? on.inner : x;
      if (there) {
        fused_choose(on, team, {x, last, dst, (job.bits - 1 - level) * terms});
        team.each([](std::uint32_t, fused_state<ShapeT>&) {});
      }
      last = there ? dst : x;
      there = true;
      if (!is_second) break;
    }
  }
}

}  // namespace halocline::backend::cuda
