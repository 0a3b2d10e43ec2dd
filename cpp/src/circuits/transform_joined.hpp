// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>

#include "circuits/transform_executor.hpp"
#include "halocline/ckks/key_switch.hpp"

/// Double hoisting without babies in memory: keys, diagonals and sums of one decomposed input meet in one
/// operation, `ckks::key_dot`.
namespace halocline::circuits::detail {

/// Sums of products by number of giant steps: over special + chain primes in double hoisting, where they are
/// multiplied by P, otherwise over the primes of the level.
using sum_map = std::map<int, std::optional<ckks::poly_pair>>;

/// Whether `key_dot` takes the keys of all baby steps: none is seeded.
/// @throws missing_key, key_mismatch
[[nodiscard]] bool can_join(ckks::evaluator& eval, const transform_grid& grid, ckks::key_id secret);

/// Adds the products of input `number`, which is at the level of the plan, to the sums of all outputs.
/// @param secret key of the inputs
void add_joined(ckks::evaluator& eval, const transform_grid& grid, std::size_t number,
                const ckks::ciphertext& input, std::span<sum_map> sums, ckks::key_id& secret);

}  // namespace halocline::circuits::detail
