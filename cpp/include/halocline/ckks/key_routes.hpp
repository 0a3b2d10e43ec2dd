// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "halocline/params/parameters.hpp"

namespace halocline::ckks {

/// Rotations composed of others, so that their own keys are not needed: Galois element -> elements whose
/// product, modulo 2N, it is. Costs one more key switch, and its noise, for each further part.
using key_routes = std::map<std::uint64_t, std::vector<std::uint64_t>>;

/// How often a program uses each key.
struct key_use {
  std::uint64_t switches = 0;   ///< key switches with the key
  std::uint64_t rotations = 0;  ///< of those, lone rotations, which can be composed; hoisted ones cannot
  unsigned level = 0;           ///< up to which the key is there
};

/// What composing is weighed against.
struct route_costs {
  double switch_ns = 0;  ///< one more key switch
  double load_ns = 0;    ///< bringing one key from the slow tier
};

/// Routes of two parts for rarely used keys, where both parts are keys that are used at least
/// `hot_switches` times and the further key switches cost less than loading the key once for each use.
/// Parts are never routed themselves, and their keys reach at least the level of the key that they replace.
/// Deterministic.
[[nodiscard]] key_routes suggest_routes(const params::parameters& parameters,
                                        const std::map<std::uint64_t, key_use>& uses,
                                        const route_costs& costs, std::uint64_t hot_switches = 8);

/// Most parts of one route. The planner makes two; each further one costs a key switch.
inline constexpr std::size_t max_route_parts = 16;

/// Checks routes that may come from a file. The element and every part must be a rotation: reduced modulo 2N,
/// in the group that the generator spans, and not 1, which is the relinearization key's number and turns
/// nothing.
/// @throws invalid_argument when one is not, when a route has no or more than `max_route_parts` parts, names
///   a key that is routed itself, or its parts do not multiply to its element
void check_routes(const params::parameters& parameters, const key_routes& routes);

}  // namespace halocline::ckks
