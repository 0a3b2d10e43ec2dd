// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "halocline/arith/arith.hpp"

/// Host-side arithmetic on the constants of a basis. 64-bit moduli serve both word sizes here: constants are
/// few.
namespace halocline::rns {

using wide_modulus = arith::modulus<std::uint64_t>;

/// Product of `factors` modulo q; 1 for none.
[[nodiscard]] inline std::uint64_t product_mod(std::span<const std::uint64_t> factors,
                                               const wide_modulus& q) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) product = arith::mul_mod(product, factor % q.value, q);
  return product;
}

/// 2^word_bits mod q: brings a constant into Montgomery form.
[[nodiscard]] inline std::uint64_t montgomery_one(unsigned word_bits, const wide_modulus& q) {
  return arith::pow_mod<std::uint64_t>(2, word_bits, q);
}

}  // namespace halocline::rns
