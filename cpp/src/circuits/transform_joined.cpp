// SPDX-License-Identifier: Apache-2.0
#include "circuits/transform_joined.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_dot.hpp"
#include "halocline/rns/mod_up.hpp"

namespace halocline::circuits::detail {
namespace {

using ckks::poly_pair;
using memory::object_class;

const ckks::evaluation_key& baby_key(ckks::evaluator& eval, const transform_plan& plan, std::int64_t step,
                                     ckks::key_id& secret) {
  const std::uint64_t element = plan.parameters().galois_element(step);
  return ckks::matching_key(eval.keys(), element, plan.level(), secret, "linear transform");
}

/// Carries out `add_joined`.
class joined_products {
 public:
  joined_products(ckks::context& ctx, const transform_grid& grid, const grid_input& input,
                  std::span<sum_map> sums)
      : ctx_(ctx),
        plan_(grid.plan()),
        grid_(grid),
        number_(input.number),
        babies_(input.babies),
        input_(input.lowered),
        sums_(sums),
        special_(plan_.parameters().special_window()),
        chain_(plan_.parameters().level(plan_.level()).q) {}

  void add(const baby_keys& keys) {
    std::vector<ckks::dot_term> terms;
    for (const int baby : babies_) {
      const std::int64_t step = plan_.rotation(baby, plan_.baby_step());
      ckks::dot_term& term = terms.emplace_back();
      if (step == 0) continue;
      if (digits_.digits.empty()) {
        digits_ = rns::mod_up(ctx_.ring(), ctx_.converter(), input_.parts[1].chain());
      }
      term = {keys.at(step), plan_.parameters().galois_element(step)};
    }
    const std::size_t weights = diagonal_bytes();
    for (std::size_t first = 0, count = 0; first < babies_.size(); first += count) {
      const auto rest = std::span<const ckks::dot_term>(terms).subspan(first);
      count = ckks::terms_per_call(ctx_, rest, digits_.numbers, weights);
      const auto group = rest.first(count);
      add_group(babies_.subspan(first, count), {group.begin(), group.end()});
    }
  }

 private:
  /// A sum that a group of babies adds to.
  struct target {
    std::optional<poly_pair>* sum;
    std::map<std::uint32_t, const transform_weight*> weights;  ///< by number of the baby in the group
  };

  [[nodiscard]] std::size_t pair_bytes() const noexcept {
    return 2 * std::size_t{special_.count + chain_.count} * ctx_.tables().limb_bytes();
  }
  /// Within a budget so many in every call that the least budget does not depend on it: diagonals of all of
  /// them are in memory. A GPU takes four in a launch.
  [[nodiscard]] std::size_t sums_at_once() const {
    constexpr std::size_t most = 8;
    if (ctx_.joining_budget() != 0) return most;
    return std::max<std::size_t>(1, ckks::key_dot_bytes(ctx_) / pair_bytes());
  }
  /// Most bytes of the diagonals of a baby in a call: where they repeat less than a polynomial each. Without
  /// a budget only keys count.
  [[nodiscard]] std::size_t diagonal_bytes() const {
    if (ctx_.joining_budget() == 0) return 0;
    std::size_t sums = 0, largest = 0;
    for (std::size_t o = 0; o < sums_.size(); ++o) {
      std::set<int> giants;
      for (const transform_weight& each : grid_.cell(o, number_)) {
        giants.insert(each.term.giant);
        largest = std::max(largest, each.expanded ? each.expanded.data().size() : pair_bytes() / 2);
      }
      sums += giants.size();
    }
    return std::min(sums, sums_at_once()) * largest;
  }

  /// The sums of all outputs that have babies of the group. Where a cell has a diagonal twice, by two names,
  /// its baby becomes a term twice.
  [[nodiscard]] std::vector<target> targets_of(std::span<const int> babies,
                                               std::vector<ckks::dot_term>& terms) const {
    std::vector<target> targets;
    for (std::size_t o = 0; o < sums_.size(); ++o) {
      std::map<int, target> by_giant;
      for (const transform_weight& each : grid_.cell(o, number_)) {
        const auto at = std::ranges::lower_bound(babies, each.term.baby);
        if (at == babies.end() || *at != each.term.baby) continue;
        target& to = by_giant[each.term.giant];
        to.sum = &sums_[o][each.term.giant];
        const auto number = static_cast<std::uint32_t>(at - babies.begin());
        if (to.weights.emplace(number, &each).second) continue;
        to.weights.emplace(static_cast<std::uint32_t>(terms.size()), &each);
        terms.push_back(terms[number]);
      }
      for (auto& [giant, to] : by_giant) targets.push_back(std::move(to));
    }
    return targets;
  }

  void add_group(std::span<const int> babies, std::vector<ckks::dot_term> terms) {
    std::vector<target> targets = targets_of(babies, terms);
    const std::size_t at_once = sums_at_once();
    for (std::size_t first = 0; first < targets.size(); first += at_once) {
      const std::size_t count = std::min(at_once, targets.size() - first);
      add_targets(std::span(targets).subspan(first, count), terms);
    }
  }

  void add_targets(std::span<target> targets, std::span<const ckks::dot_term> terms) {
    std::vector<const ckks::compact_plaintext*> compact;
    for (const target& each : targets) {
      for (const auto& [number, weight] : each.weights) {
        if (!weight->expanded) compact.push_back(&weight->compact);
      }
    }
    const std::vector<ring::poly> expanded = expand_diagonals(ctx_, compact, plan_, object_class::scratch);
    std::size_t taken = 0;
    std::vector<ckks::dot_sum> sums;
    for (target& each : targets) {
      ckks::dot_sum sum{nullptr, each.sum->has_value(), {}, {}};
      if (!*each.sum) {
        *each.sum = ckks::make_pair(ctx_, special_, chain_, object_class::scratch, "linear_transform.sum");
      }
      sum.total = &**each.sum;
      for (const auto& [number, weight] : each.weights) {
        sum.numbers.push_back(number);
        sum.weights.push_back(weight->expanded ? &weight->expanded : &expanded[taken++]);
      }
      sums.push_back(std::move(sum));
    }
    const ckks::dot_source source{digits_.digits.empty() ? nullptr : &digits_, input_.parts[0].chain(),
                                  input_.parts[1].chain()};
    ckks::key_dot(ctx_, source, terms, sums);
  }

  ckks::context& ctx_;
  const transform_plan& plan_;
  const transform_grid& grid_;
  std::size_t number_;
  std::span<const int> babies_;
  const ckks::ciphertext& input_;
  std::span<sum_map> sums_;
  arith::window special_, chain_;
  rns::raised_digits digits_;
};

}  // namespace

std::optional<baby_keys> joined_keys(ckks::evaluator& eval, const transform_plan& plan,
                                     const transform_usage& usage, ckks::key_id& secret) {
  if (plan.mode() != transform_mode::double_hoisted) return {};
  baby_keys keys;
  for (const std::vector<int>& babies : usage.babies) {
    for (const int baby : babies) {
      const std::int64_t step = plan.rotation(baby, plan.baby_step());
      if (step == 0 || keys.contains(step)) continue;
      const ckks::evaluation_key& key = baby_key(eval, plan, step, secret);
      if (!ckks::takes_key(key)) return {};
      keys[step] = &key;
    }
  }
  return keys;
}

void add_joined(ckks::context& ctx, const transform_grid& grid, const grid_input& input,
                std::span<sum_map> sums, const baby_keys& keys) {
  joined_products(ctx, grid, input, sums).add(keys);
}

}  // namespace halocline::circuits::detail
