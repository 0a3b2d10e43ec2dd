// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halocline/circuits/minimax_sign.hpp"
#include "halocline/circuits/polynomial.hpp"
#include "halocline/ckks/evaluator.hpp"

/// Sign and what is built on it, by the composite minimax polynomials of `minimax_sign`. All work on the real
/// parts of real slots; an imaginary part of the input spoils the result.
///
/// `range` bounds the argument of the sign: |x| <= range, for comparisons |a - b| <= range. A range of 1, or
/// 1 / m for an integer m, costs nothing; any other takes one level for the division. Values outside the
/// range give results without any meaning: outside its interval the first stage grows like a power of its
/// degree, and its table tolerates only noise of a relative 2^-16 there.
///
/// Precision: with e = `chain.epsilon`, d = `chain.error` <= 2^-alpha and the noise n of the evaluation
/// (below 2^-20 at a 40-bit scale), the sign of an argument of magnitude e * range or more is right to d + n,
/// and between -1 - d - n and 1 + d + n for smaller ones.
namespace halocline::circuits {

/// What is computed.
enum class comparison_kind : unsigned char { sign, step, maximum, relu };

/// Levels that a computation takes: those of the chain, one for the division when the range needs it, one for
/// the product of maximum, minimum and ReLU.
[[nodiscard]] unsigned comparison_levels(comparison_kind kind, const composite_sign& chain,
                                         double range = 1.0);

/// Relinearizations that a computation takes, each one a key switch.
[[nodiscard]] std::size_t comparison_key_switches(comparison_kind kind, const composite_sign& chain,
                                                  double range = 1.0);

/// The keys that a computation uses for arguments of canonical scale at `input_level`: relinearization only.
[[nodiscard]] std::vector<ckks::key_request> comparison_keys(const composite_sign& chain,
                                                             unsigned input_level, double range = 1.0);

/// About -1, 0 or 1 in every slot: the sign of x. Error as above.
/// @throws level_exhausted when x has fewer levels than `comparison_levels`; the message says how many are
///   missing
/// @throws invalid_argument unless the range is positive and finite
[[nodiscard]] ckks::ciphertext sign(ckks::evaluator& eval, const ckks::ciphertext& x,
                                    const composite_sign& chain, double range = 1.0);

/// About 1 where x > 0, 1/2 where x = 0 and 0 where x < 0: (sign(x) + 1) / 2, half the error of the sign.
/// Throws as `sign`.
[[nodiscard]] ckks::ciphertext step(ckks::evaluator& eval, const ckks::ciphertext& x,
                                    const composite_sign& chain, double range = 1.0);

/// About 1 where a > b, 1/2 where a = b and 0 where a < b: step(a - b). Throws as `sign`.
[[nodiscard]] ckks::ciphertext compare(ckks::evaluator& eval, const ckks::ciphertext& a,
                                       const ckks::ciphertext& b, const composite_sign& chain,
                                       double range = 1.0);

/// The larger of a and b in every slot: b + (a - b) step(a - b). Off by at most range * chain.relu_error plus
/// noise, because a wrong sign costs little where a and b are close. Throws as `sign`.
[[nodiscard]] ckks::ciphertext maximum(ckks::evaluator& eval, const ckks::ciphertext& a,
                                       const ckks::ciphertext& b, const composite_sign& chain,
                                       double range = 1.0);

/// The smaller of a and b in every slot: a - (a - b) step(a - b). As `maximum`.
[[nodiscard]] ckks::ciphertext minimum(ckks::evaluator& eval, const ckks::ciphertext& a,
                                       const ckks::ciphertext& b, const composite_sign& chain,
                                       double range = 1.0);

/// max(x, 0) for |x| <= range: x step(x) = x (sign(x) + 1) / 2, off by at most range * chain.relu_error plus
/// noise. Throws as `sign`. Where the values come from a linear layer, divide its weights by the range
/// instead of passing one: relu(x) = range * relu(x / range).
[[nodiscard]] ckks::ciphertext relu(ckks::evaluator& eval, const ckks::ciphertext& x,
                                    const composite_sign& chain, double range = 1.0);

}  // namespace halocline::circuits
