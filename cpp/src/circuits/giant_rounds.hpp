// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/circuits/transform_plan.hpp"
#include "halocline/ckks/context.hpp"

namespace halocline::circuits::detail {

/// A giant whose sum is rotated to that of the giant `next`. Giant 0 stays: its `next` is 0 too.
struct giant_turn {
  int giant;
  int next;
};
/// Turns whose sums do not depend on each other: of one giant, by Horner's rule also of one above 0 and one
/// below, and of several in direct plans.
using giant_round = std::vector<giant_turn>;

/// The turns of `giants` (ascending), from the outermost ones towards 0, and at last giant 0 where it is
/// among them. With `at_once` above 1, both sides of 0 end in the same round by Horner's rule, and so many
/// giants share a round in direct plans; otherwise they follow each other.
[[nodiscard]] std::vector<giant_round> giant_rounds(const transform_plan& plan, std::span<const int> giants,
                                                    std::size_t at_once);

/// The giants of all rounds, in their order.
[[nodiscard]] std::vector<int> order_of(std::span<const giant_round> all);

/// Sums that are rotated together: more than one where a rotation takes little longer than the launches of
/// its kernels, and memory is not scarce, as their decompositions are live together then.
[[nodiscard]] std::size_t giants_at_once(ckks::context& ctx, const transform_plan& plan);

/// Giants whose sums are made together: the babies are read once for all of them. More than one where the
/// device has a cache that key switches are cut for, as long as a step does not get too large.
[[nodiscard]] std::size_t giants_per_batch(const ckks::context& ctx, const transform_grid& grid,
                                           const transform_usage& usage, std::size_t output);

}  // namespace halocline::circuits::detail
