// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/context.hpp"

/// Parts of sums of ciphertexts that have levels, scales and constants of their own, in joined calls of the
/// backend. The integers are those of the evaluator's operations on one after the other. Callers give
/// ciphertexts that an evaluator made or checked.
namespace halocline::ckks {

/// Factors of the products of one sum, at least one pair.
using product_sum = std::vector<std::pair<const ciphertext*, const ciphertext*>>;

/// The sums at `level` up to their key switches, as `evaluator::unfinished_dot` makes them; they may have
/// different numbers of products.
/// @throws invalid_argument where a factor lacks primes of the level; scale_mismatch where the products of a
///   sum have different scales; key_mismatch
[[nodiscard]] std::vector<ciphertext> unfinished_sums(context& ctx, std::span<const product_sum> sums,
                                                      unsigned level);

/// constant * value, encoded at `scale`, modulo the primes of `level`, which the value has.
struct multiple {
  const ciphertext* value;
  double constant;
  double scale;
  unsigned level;
};

/// The multiples, as `evaluator::multiply_constant_raw` makes them: with scale value->scale * scale.
/// @throws invalid_argument where a constant has no room, or a value lacks primes
[[nodiscard]] std::vector<ciphertext> multiples(context& ctx, std::span<const multiple> some);

/// *sums[i] += some[i], as `evaluator::add_multiples` does; the sums keep their scales.
/// @throws as above; key_mismatch
void add_multiples(context& ctx, std::span<ciphertext* const> sums, std::span<const multiple> some);

/// *sums[i] += addends[i] and *sums[i] -= addends[i] on the components that the addends have.
/// @throws scale_mismatch, key_mismatch
void add_to(context& ctx, std::span<ciphertext* const> sums, ciphertext_span addends);
void subtract_from(context& ctx, std::span<ciphertext* const> sums, ciphertext_span subtrahends);

/// *sums[i] += constants[i] in every slot.
/// @throws invalid_argument where a constant has no room
void add_constants(context& ctx, std::span<ciphertext* const> sums, std::span<const double> constants);

/// A ciphertext and where it is to come down to.
struct adjustment {
  const ciphertext* value;
  unsigned level;
  double scale;
};

/// As `evaluator::adjust` makes them; what neither changes its scale nor its level is copied too.
/// @throws level_exhausted, invalid_argument, scale_mismatch
[[nodiscard]] std::vector<ciphertext> adjusted(context& ctx, std::span<const adjustment> targets);

}  // namespace halocline::ckks
