// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "halocline/circuits/polynomial.hpp"

namespace halocline::circuits::detail {

/// A power and a level that it comes down to: `exact` also where limbs could be ignored.
struct power_use {
  unsigned power;
  unsigned level;
  bool exact = false;
};

/// Powers or Chebyshev polynomials of encrypted variables of one shape, made at first use for all of them
/// together and kept, also at lower levels where that takes a division. Power i is ceil(log2 i) levels below
/// the variables, of about canonical scale when they are.
///
/// Chebyshev polynomials have twice the canonical scale: their integers are those of 2 T_i, so that
/// 2 T_(a+b) = 2 T_a 2 T_b - 2 T_(a-b) needs no doubling, and the error of its rescale counts half.
class power_basis {
 public:
  /// @param variables of canonical scale; with Chebyshev polynomials twice that
  power_basis(ckks::evaluator& eval, polynomial_basis basis, std::vector<ckks::ciphertext> variables);

  /// Level of power i as it is made.
  [[nodiscard]] unsigned level(unsigned power) const noexcept;
  /// Power i of every variable for use at `level`, at most `level(i)`: at that level or, where its limbs
  /// beyond can be ignored (`ckks::has_primes_of`), at the one that it was made at. The addresses stay valid
  /// for the life of this object.
  [[nodiscard]] std::vector<const ckks::ciphertext*> at(unsigned power, unsigned level);

  [[nodiscard]] polynomial_basis basis() const noexcept { return basis_; }
  /// Number of ciphertexts of each power.
  [[nodiscard]] std::size_t count() const noexcept { return known_.begin()->second.size(); }
  /// Scale of `at(power, level)`, without making it.
  [[nodiscard]] double scale(unsigned power, unsigned level);
  /// Whether T_(a-b) is taken off the product of T_a and T_b before its division, where a + b = `power`; else
  /// after it, or there is nothing to take off.
  [[nodiscard]] bool subtracts_early(unsigned power) const;

  /// Takes over power i of every variable, made elsewhere at `level(i)`.
  void store(unsigned power, std::vector<ckks::ciphertext> made);
  /// Brings powers that were made down for `uses`, where `at` or `exactly` would lack them, in joined calls.
  void lower(std::span<const power_use> uses);
  /// Power i of every variable at `level` itself: its own one, or one that `lower` brought it to.
  [[nodiscard]] std::vector<const ckks::ciphertext*> exactly(unsigned power, unsigned level) const;

 private:
  [[nodiscard]] std::vector<ckks::ciphertext> make(unsigned power);
  [[nodiscard]] double scale_as_made(unsigned power);
  /// The product of two powers at `level`, not finished.
  [[nodiscard]] std::vector<ckks::ciphertext> product(unsigned first, unsigned second, unsigned level);

  ckks::evaluator& eval_;
  polynomial_basis basis_;
  unsigned top_;
  std::map<std::pair<unsigned, unsigned>, std::vector<ckks::ciphertext>> known_;  ///< by power and level
  std::map<unsigned, double> scales_;                                             ///< of powers as made
};

}  // namespace halocline::circuits::detail
