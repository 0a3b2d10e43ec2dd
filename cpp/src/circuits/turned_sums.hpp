// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/circuits/transform_plan.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_switch.hpp"

/// Rotations of the sums of giant steps.
namespace halocline::circuits::detail {

/// A sum and the rotation that it is to go through. In double hoisting it spans special + chain primes and is
/// multiplied by P, otherwise it spans the primes of the plan's level.
struct turned_sum {
  ckks::poly_pair sum;
  const ckks::evaluation_key* key;
  std::uint64_t galois_element;
  /// Sum over special + chain primes that the rotated one is added to; may be empty.
  ckks::poly_pair onto{};
};

/// The rotated sums of a plan with double hoisting, each added to its `onto`, over special + chain primes.
/// Only the second components are divided by P, as inputs of the decomposition; the first ones stay undivided
/// and join the key products.
[[nodiscard]] std::vector<ckks::poly_pair> turn_each(ckks::context& ctx, const transform_plan& plan,
                                                     std::vector<turned_sum> sums);

/// Adds the rotated sums of a direct plan to `total`, over special + chain primes and multiplied by P, where
/// it is made unless it is there. One decomposition for all sums in joined calls of the backend, and none of
/// them is written when it has been rotated. `onto` is not used.
void add_turned(ckks::context& ctx, const transform_plan& plan, std::vector<turned_sum> sums,
                ckks::poly_pair& total);

}  // namespace halocline::circuits::detail
