// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Keys of baby steps by rotation, but for 0.
using baby_keys = std::map<std::int64_t, const ckks::evaluation_key*>;

/// The keys of all baby steps, each asked for once; nothing where `key_dot` does not take them: for another
/// mode than double hoisting, and where one is seeded.
/// @throws missing_key, key_mismatch
[[nodiscard]] std::optional<baby_keys> joined_keys(ckks::evaluator& eval, const transform_plan& plan,
                                                   const transform_usage& usage, ckks::key_id& secret);

/// An input of a grid.
struct grid_input {
  std::size_t number;
  std::span<const int> babies;      ///< that its cells use, ascending
  const ckks::ciphertext& lowered;  ///< at the level of the plan
};

/// Adds the products of an input to the sums of all outputs.
/// @param keys of `joined_keys`
void add_joined(ckks::context& ctx, const transform_grid& grid, const grid_input& input,
                std::span<sum_map> sums, const baby_keys& keys);

}  // namespace halocline::circuits::detail
