// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ring/context.hpp"

namespace halocline::rns {

/// Makes and keeps the constants of base conversions (centred fast base conversion with a fixed-point
/// quotient; the idea of the quotient is from Halevi, Polyakov, Shoup, "An Improved RNS Variant of the BFV
/// Homomorphic Encryption Scheme", 2018, section 2.2). Not thread-safe.
class base_converter {
 public:
  explicit base_converter(ring::context& ring) : ring_(ring) {}

  /// Constants for the conversion from the primes of `sources` to those of `targets`, each concatenated (at
  /// most 64 source primes). The reference stays valid for the life of this object.
  [[nodiscard]] const backend::conversion_table& table(const std::vector<backend::window>& sources,
                                                       const std::vector<backend::window>& targets);

 private:
  ring::context& ring_;
  std::map<std::vector<std::uint32_t>, backend::conversion_table> tables_;
};

}  // namespace halocline::rns
