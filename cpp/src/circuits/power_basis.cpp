// SPDX-License-Identifier: Apache-2.0
#include "circuits/power_basis.hpp"

#include "circuits/polynomial_plan.hpp"
#include "halocline/backend/scoped_operation.hpp"

namespace halocline::circuits::detail {

power_basis::power_basis(ckks::evaluator& eval, polynomial_basis basis, ckks::ciphertext variable)
    : eval_(eval), basis_(basis), top_(variable.level) {
  known_.emplace(std::pair{1u, top_}, std::move(variable));
}

unsigned power_basis::level(unsigned power) const noexcept { return top_ - power_depth(power); }

const ckks::ciphertext& power_basis::at(unsigned power, unsigned level) {
  const std::pair key{power, level};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const unsigned highest = this->level(power);
  return known_.emplace(key, level == highest ? make(power) : eval_.drop_level(at(power, highest), level))
      .first->second;
}

ckks::ciphertext power_basis::make(unsigned power) {
  const backend::scoped_operation named("powers");
  const auto [first, second] = power_factors(power);
  const unsigned from = level(power) + 1;
  const ckks::ciphertext& a = at(first, from);
  const ckks::ciphertext& b = at(second, from);
  if (basis_ == polynomial_basis::monomial) return eval_.multiply(a, b);
  // T_(a+b) = 2 T_a T_b - T_(a-b); doubled before the product, so that its rounding error is not.
  const ckks::ciphertext twice = eval_.multiply(eval_.add(a, a), b);
  if (first == second) return eval_.add_constant(twice, -1.0);
  return eval_.sub(twice, at(first - second, from - 1));
}

}  // namespace halocline::circuits::detail
