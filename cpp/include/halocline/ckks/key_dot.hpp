// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/key_switch.hpp"

namespace halocline::ckks {

/// One rotation of a decomposed polynomial: X -> X^galois_element of the product with `key`. Without a key it
/// is P times the ciphertext itself.
struct dot_term {
  const evaluation_key* key = nullptr;  ///< not seeded
  std::uint64_t galois_element = 1;
};

/// total = sum_i weights[i] * term numbers[i], added to what it holds when `accumulate`. All polynomials span
/// special + chain primes; the weights may be repeated views. The total is no operand.
struct dot_sum {
  const poly_pair* total = nullptr;
  bool accumulate = false;
  std::vector<std::uint32_t> numbers;  ///< ascending
  std::vector<const ring::poly*> weights;
};

/// A ciphertext over the chain of a level, its second component decomposed. `digits` are needed only for
/// terms with keys.
struct dot_source {
  const rns::raised_digits* digits = nullptr;
  backend::limb_view first;
  backend::limb_view second;
};

/// Weighted sums of rotations without the division by P, in one call of the backend that writes no rotation:
/// the same integers as `key_product` of each term, and products with the weights.
/// @throws invalid_argument for a key that is seeded or has too few digits, and for terms with keys where
///   there are no digits
void key_dot(context& ctx, const dot_source& source, std::span<const dot_term> terms,
             std::span<const dot_sum> sums);

/// Whether `key_dot` takes a key.
[[nodiscard]] bool takes_key(const evaluation_key& key) noexcept;

/// What the keys of one call and their weights shall take at most, as they are in memory together: as calls
/// of `key_products` a small part of `context::joining_budget`, which live scratch lessens. Up to 1 GiB, on
/// all devices: calls write no products.
[[nodiscard]] std::size_t key_dot_bytes(const context& ctx);

/// How many of the next terms one call takes: at least one, and as many as touch `key_dot_bytes` together.
/// @param numbers of the digits, or none where no term has a key
/// @param weights bytes of the weights of each term
[[nodiscard]] std::size_t terms_per_call(const context& ctx, std::span<const dot_term> terms,
                                         std::span<const std::uint32_t> numbers, std::size_t weights);

}  // namespace halocline::ckks
