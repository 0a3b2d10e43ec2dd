// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "halocline/circuits/polynomial.hpp"

namespace halocline::circuits::detail {

/// Powers or Chebyshev polynomials of encrypted variables of one shape, made at first use for all of them
/// together and kept, also at lower levels. Power i is ceil(log2 i) levels below the variables, of canonical
/// scale when they are.
class power_basis {
 public:
  /// @param variables of canonical scale
  power_basis(ckks::evaluator& eval, polynomial_basis basis, std::vector<ckks::ciphertext> variables);

  /// Level of power i as it is made.
  [[nodiscard]] unsigned level(unsigned power) const noexcept;
  /// Power i of every variable at `level`, at most `level(i)`. The addresses stay valid for the life of this
  /// object.
  [[nodiscard]] std::vector<const ckks::ciphertext*> at(unsigned power, unsigned level);

 private:
  [[nodiscard]] std::vector<ckks::ciphertext> make(unsigned power);

  ckks::evaluator& eval_;
  polynomial_basis basis_;
  unsigned top_;
  std::map<std::pair<unsigned, unsigned>, std::vector<ckks::ciphertext>> known_;  ///< by power and level
};

}  // namespace halocline::circuits::detail
