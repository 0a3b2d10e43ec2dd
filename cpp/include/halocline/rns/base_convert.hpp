// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ring/context.hpp"

namespace halocline::rns {

struct division;
struct division_plan;

/// Makes and keeps the constants of base conversions (centred fast base conversion with a fixed-point
/// quotient; the idea of the quotient is from Halevi, Polyakov, Shoup, "An Improved RNS Variant of the BFV
/// Homomorphic Encryption Scheme", 2018, section 2.2). Not thread-safe.
class base_converter {
 public:
  explicit base_converter(ring::context& ring) : ring_(ring) {}

  /// Constants for the conversion from the primes of `sources` to those of `targets`, each concatenated (at
  /// most 64 source primes). The reference stays valid for the life of this object.
  /// @param scale integer by which the source is multiplied first: its residues modulo every source prime, in
  ///   order; empty means 1. It costs nothing, because the conversion multiplies by constants anyway.
  [[nodiscard]] const backend::conversion_table& table(const std::vector<arith::window>& sources,
                                                       const std::vector<arith::window>& targets,
                                                       std::span<const std::uint64_t> scale = {});
  /// Constants of a division, kept like the tables unless it has a factor of its own (those differ from
  /// ciphertext to ciphertext).
  [[nodiscard]] std::shared_ptr<const division_plan> plan(const division& step);
  /// The product of all special primes modulo every prime of `primes`, in order.
  [[nodiscard]] std::span<const std::uint64_t> special_product(arith::window primes);

 private:
  ring::context& ring_;
  std::map<std::vector<std::uint64_t>, backend::conversion_table> tables_;
  std::map<std::vector<std::uint32_t>, std::shared_ptr<const division_plan>> plans_;
  std::vector<std::uint64_t> special_products_;  ///< modulo every prime of the ring
};

}  // namespace halocline::rns
