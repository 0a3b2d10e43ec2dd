// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ring/poly.hpp"
#include "halocline/rns/base_convert.hpp"

namespace halocline::rns {

/// A division with rounding by a product of primes: dst = round(factor * added * src / dropped), where
/// `dropped` is the product of the primes of `source` that are not in `target`, and `added` the product of
/// those of `target` that are not in `source`. ModDown, rescale, rational rescale and level adjustment are
/// all of this form.
struct division {
  arith::window source_special;  ///< special primes of the source (all dropped); may be empty
  arith::window source_chain;    ///< chain primes of the source
  arith::window target;          ///< chain primes of the result
  /// Residues of an integer factor modulo every prime of special + chain source, in order; empty means 1.
  std::vector<std::uint64_t> factor;
};

/// Carries out `step` on several polynomials at once (both components of a ciphertext). Sources and results
/// in NTT form; sources are not changed. The rounding error is at most 1/2 + 2^-14 per coefficient, of
/// uniform sign. Cost per polynomial: one inverse NTT per dropped prime, one base conversion, one NTT per
/// target prime.
/// @throws invalid_argument when nothing is dropped although primes are added.
[[nodiscard]] std::vector<ring::poly> divide(ring::context& ring, base_converter& converter,
                                             const division& step, std::span<const ring::poly* const> sources,
                                             memory::object_class result_class, const char* tag);

/// Polynomials that take the same division.
struct division_batch {
  division step;
  std::vector<const ring::poly*> sources;
};

/// Several divisions in joined calls of the backend. Quotients in the order of the batches, each with the
/// integers of `divide` of its own batch.
/// @throws as above
[[nodiscard]] std::vector<ring::poly> divide(ring::context& ring, base_converter& converter,
                                             std::span<const division_batch> batches,
                                             memory::object_class result_class, const char* tag);

}  // namespace halocline::rns
