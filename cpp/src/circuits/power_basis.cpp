// SPDX-License-Identifier: Apache-2.0
#include "circuits/power_basis.hpp"

#include "circuits/polynomial_plan.hpp"
#include "halocline/backend/scoped_operation.hpp"

namespace halocline::circuits::detail {

power_basis::power_basis(ckks::evaluator& eval, polynomial_basis basis,
                         std::vector<ckks::ciphertext> variables)
    : eval_(eval), basis_(basis), top_(variables.front().level) {
  known_.emplace(std::pair{1u, top_}, std::move(variables));
}

unsigned power_basis::level(unsigned power) const noexcept { return top_ - power_depth(power); }

std::vector<const ckks::ciphertext*> power_basis::at(unsigned power, unsigned level) {
  const std::pair key{power, level};
  const auto found = known_.find(key);
  if (found != known_.end()) return ckks::pointers(found->second);
  const unsigned highest = this->level(power);
  std::vector<ckks::ciphertext> made =
      level == highest ? make(power) : eval_.drop_level(at(power, highest), level);
  return ckks::pointers(known_.emplace(key, std::move(made)).first->second);
}

std::vector<ckks::ciphertext> power_basis::make(unsigned power) {
  const backend::scoped_operation named("powers");
  const auto [first, second] = power_factors(power);
  const unsigned from = level(power) + 1;
  const std::vector<const ckks::ciphertext*> a = at(first, from);
  const std::vector<const ckks::ciphertext*> b = at(second, from);
  if (basis_ == polynomial_basis::monomial) return eval_.multiply(a, b);
  // T_(a+b) = 2 T_a T_b - T_(a-b); doubled before the product, so that its rounding error is not.
  const std::vector<ckks::ciphertext> twice = eval_.multiply(ckks::pointers(eval_.add(a, a)), b);
  if (first == second) return eval_.add_constant(ckks::pointers(twice), -1.0);
  return eval_.sub(ckks::pointers(twice), at(first - second, from - 1));
}

}  // namespace halocline::circuits::detail
