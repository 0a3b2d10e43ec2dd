// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/rns/mod_down.hpp"

namespace halocline::rns {

/// Everything about a division that does not depend on the polynomials.
struct division_plan {
  std::vector<arith::window> dropped;  ///< special primes, then chain primes that go
  std::vector<arith::window> kept;     ///< target primes that the source has
  std::vector<arith::window> added;    ///< target primes that the source lacks
  /// factor * added on every dropped limb; empty where the conversion multiplies by it.
  std::vector<backend::scalar_pair> before;
  std::vector<std::uint64_t>
      source_factor;                        ///< factor * added / dropped on every target limb (0 where added)
  std::vector<std::uint64_t> carry_factor;  ///< -1 / dropped on every target limb
  const backend::conversion_table* conversion = nullptr;  ///< from the dropped primes to the target
};

}  // namespace halocline::rns
