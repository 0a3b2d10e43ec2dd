// SPDX-License-Identifier: Apache-2.0
#include "circuits/power_basis.hpp"

#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "circuits/mode_scope.hpp"
#include "circuits/polynomial_plan.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/joined_sums.hpp"
#include "halocline/ckks/scales.hpp"

namespace halocline::circuits::detail {

power_basis::power_basis(ckks::evaluator& eval, polynomial_basis basis,
                         std::vector<ckks::ciphertext> variables)
    : eval_(eval), basis_(basis), top_(variables.front().level) {
  known_.emplace(std::pair{1u, top_}, std::move(variables));
}

unsigned power_basis::level(unsigned power) const noexcept { return top_ - power_depth(power); }

std::vector<const ckks::ciphertext*> power_basis::at(unsigned power, unsigned level) {
  const unsigned highest = this->level(power);
  if (ckks::has_primes_of(eval_.context().parameters(), highest, level)) level = highest;
  const std::pair key{power, level};
  const auto found = known_.find(key);
  if (found != known_.end()) return ckks::pointers(found->second);
  std::vector<ckks::ciphertext> made =
      level == highest ? make(power) : eval_.drop_level(at(power, highest), level);
  return ckks::pointers(known_.emplace(key, std::move(made)).first->second);
}

std::vector<ckks::ciphertext> power_basis::product(unsigned first, unsigned second, unsigned level) {
  const std::vector<const ckks::ciphertext*> a = at(first, level);
  if (first != second) {
    const std::vector<const ckks::ciphertext*> left[] = {a};
    const std::vector<const ckks::ciphertext*> right[] = {at(second, level)};
    return eval_.unfinished_dot(left, right, level);
  }
  const mode_scope manual(eval_, ckks::maintenance::manual);
  return eval_.multiply(a, a);
}

std::vector<ckks::ciphertext> power_basis::make(unsigned power) {
  const backend::scoped_operation named("powers");
  const auto [first, second] = power_factors(power);
  const unsigned from = level(power) + 1;
  std::vector<ckks::ciphertext> sums = product(first, second, from);
  if (basis_ == polynomial_basis::monomial) return eval_.finish_product(ckks::pointers(sums));
  // The factors have twice the scale: taken at half of it the product is 2 T_a T_b.
  for (ckks::ciphertext& each : sums) each.scale /= 2;
  if (first == second) {
    sums = eval_.finish_product(ckks::pointers(sums));
    eval_.add_constants(sums, -1.0);
    return sums;
  }
  const unsigned difference = first - second;
  if (subtracts_early(power)) {
    eval_.add_multiples(sums, at(difference, from), -1.0);
    return eval_.finish_product(ckks::pointers(sums));
  }
  // Scales are not canonical where a factor came down without a division, so it is that of the product that
  // the difference gets; it lies above, which leaves room for that.
  sums = eval_.finish_product(ckks::pointers(sums));
  const std::vector<ckks::ciphertext> lowered =
      eval_.adjust(at(difference, level(difference)), from - 1, sums.front().scale);
  return eval_.sub(ckks::pointers(sums), ckks::pointers(lowered));
}

bool power_basis::subtracts_early(unsigned power) const {
  const auto [first, second] = power_factors(power);
  return basis_ == polynomial_basis::chebyshev && first != second &&
         ckks::has_primes_of(eval_.context().parameters(), level(first - second), level(power) + 1);
}

double power_basis::scale_as_made(unsigned power) {
  if (power == 1) return known_.at({1, top_}).front().scale;
  const auto found = scales_.find(power);
  if (found != scales_.end()) return found->second;
  const auto [first, second] = power_factors(power);
  const unsigned from = level(power) + 1;
  const double product = scale(first, from) * scale(second, from);
  const double halved = basis_ == polynomial_basis::chebyshev ? product / 2 : product;
  return scales_[power] = ckks::rescaled_scale(eval_.context().parameters(), from, halved);
}

double power_basis::scale(unsigned power, unsigned level) {
  const params::parameters& parameters = eval_.context().parameters();
  const unsigned highest = this->level(power);
  const double made = scale_as_made(power);
  if (ckks::has_primes_of(parameters, highest, level)) return made;
  const double ratio = parameters.level(level).scale / parameters.level(highest).scale;
  return ckks::snap_scale(parameters, level, made * ratio);
}

void power_basis::store(unsigned power, std::vector<ckks::ciphertext> made) {
  known_.emplace(std::pair{power, level(power)}, std::move(made));
}

void power_basis::lower(std::span<const power_use> uses) {
  const params::parameters& parameters = eval_.context().parameters();
  std::set<std::pair<unsigned, unsigned>> lacking;
  for (const power_use& each : uses) {
    const unsigned highest = level(each.power);
    const bool ignores = !each.exact && ckks::has_primes_of(parameters, highest, each.level);
    if (each.level == highest || ignores || known_.contains({each.power, each.level})) continue;
    lacking.emplace(each.power, each.level);
  }
  if (lacking.empty()) return;
  const backend::scoped_operation named("drop_level");
  std::vector<ckks::adjustment> targets;
  for (const auto& [power, lower] : lacking) {
    const unsigned highest = level(power);
    const double ratio = parameters.level(lower).scale / parameters.level(highest).scale;
    for (const ckks::ciphertext* a : at(power, highest)) {
      targets.push_back({a, lower, ckks::snap_scale(parameters, lower, a->scale * ratio)});
    }
  }
  std::vector<ckks::ciphertext> made = ckks::adjusted(eval_.context(), targets);
  auto next = std::make_move_iterator(made.begin());
  for (const auto& each : lacking) {
    const auto end = next + static_cast<std::ptrdiff_t>(count());
    known_.emplace(each, std::vector<ckks::ciphertext>(next, end));
    next = end;
  }
}

std::vector<const ckks::ciphertext*> power_basis::exactly(unsigned power, unsigned level) const {
  return ckks::pointers(known_.at({power, level}));
}

}  // namespace halocline::circuits::detail
