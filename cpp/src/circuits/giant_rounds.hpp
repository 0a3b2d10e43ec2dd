// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "halocline/circuits/transform_plan.hpp"
#include "halocline/ckks/context.hpp"

namespace halocline::circuits::detail {

/// A giant whose sum is rotated to that of the giant `next`. Giant 0 stays: its `next` is 0 too.
struct giant_turn {
  int giant;
  int next;
};
/// Turns whose sums do not depend on each other: of one giant, or of one above 0 and one below.
using giant_round = std::vector<giant_turn>;

/// The turns of `giants` (ascending) by Horner's rule, from the outermost ones towards 0, and at last giant 0
/// where it is among them. `joined`: both sides of 0 end in the same round, otherwise they follow each other.
[[nodiscard]] std::vector<giant_round> giant_rounds(const transform_plan& plan, std::span<const int> giants,
                                                    bool joined);

/// The giants of all rounds, in their order.
[[nodiscard]] std::vector<int> order_of(std::span<const giant_round> all);

/// Whether the sums above 0 and those below are rotated together: where a rotation takes little longer than
/// the launches of its kernels, and memory is not scarce, as two decompositions are live then.
[[nodiscard]] bool joins_sides(ckks::context& ctx, const transform_plan& plan);

}  // namespace halocline::circuits::detail
