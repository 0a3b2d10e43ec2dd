// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "halocline/circuits/polynomial.hpp"

namespace halocline::circuits::detail {

/// Powers or Chebyshev polynomials of one encrypted variable, made at first use and kept, also at lower
/// levels. Power i is ceil(log2 i) levels below the variable, of canonical scale when the variable is.
class power_basis {
 public:
  /// @param variable of canonical scale
  power_basis(ckks::evaluator& eval, polynomial_basis basis, ckks::ciphertext variable);

  /// Level of power i as it is made.
  [[nodiscard]] unsigned level(unsigned power) const noexcept;
  /// Power i at `level`, at most `level(i)`. The reference stays valid for the life of this object.
  [[nodiscard]] const ckks::ciphertext& at(unsigned power, unsigned level);

 private:
  [[nodiscard]] ckks::ciphertext make(unsigned power);

  ckks::evaluator& eval_;
  polynomial_basis basis_;
  unsigned top_;
  std::map<std::pair<unsigned, unsigned>, ckks::ciphertext> known_;  ///< by power and level
};

}  // namespace halocline::circuits::detail
