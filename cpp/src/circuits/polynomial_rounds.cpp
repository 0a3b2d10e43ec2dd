// SPDX-License-Identifier: Apache-2.0
#include "circuits/polynomial_rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/joined_sums.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/ckks/scales.hpp"

namespace halocline::circuits::detail {
namespace {

using ckks::ciphertext;
using ciphertexts = std::vector<ciphertext>;

/// How the terms of a sum come to its result.
enum class way : unsigned char {
  ignored,  ///< their limbs beyond the product's level are ignored; the division of the sum finishes them
  divided,  ///< brought down to the level of the product by a division of their own
  direct,   ///< brought down to the level of the result; there are no products
};

/// constant + sum coefficient * b_power + sum of products: a node of the plan, or a power.
struct task {
  const sum_node* node;  ///< nullptr: a power
  unsigned power;
  unsigned level;    ///< of the result
  double scale;      ///< of the result
  double raw_scale;  ///< of the sum before its division, one level above
  std::vector<std::pair<unsigned, double>> terms;
  double constant;
  way terms_by;
  unsigned from;          ///< level at which the terms are summed
  unsigned late;          ///< power that is taken off after the division; 0: none
  ciphertexts sums{};     ///< of the products, if there are any; at last the result
  ciphertexts apart{};    ///< sums of terms that come down by themselves
  ciphertexts lowered{};  ///< the power that is taken off
};

bool has_products(const task& each) { return each.node == nullptr || !each.node->products.empty(); }

void append(std::vector<ciphertext*>& all, ciphertexts& values) {
  for (ciphertext& each : values) all.push_back(&each);
}

std::vector<const ciphertext*> constant(const std::vector<ciphertext*>& values) {
  return {values.begin(), values.end()};
}

/// Moves results of a joined step to where they belong.
void distribute(ciphertexts made, std::span<ciphertexts* const> to, std::size_t count) {
  auto next = std::make_move_iterator(made.begin());
  for (ciphertexts* const each : to) {
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    *each = ciphertexts(next, end);
    next = end;
  }
}

class round_evaluator {
 public:
  round_evaluator(ckks::evaluator& eval, power_basis& powers)
      : eval_(eval),
        ctx_(eval.context()),
        parameters_(ctx_.parameters()),
        powers_(powers),
        count_(powers.count()) {}

  [[nodiscard]] std::vector<ciphertexts> run(const evaluation_plan& plan,
                                             std::span<const polynomial_target> targets) {
    for (const unsigned power : plan.powers) add_power(power);
    for (std::size_t i = 0; i < targets.size(); ++i) add_node(plan.roots[i], targets[i]);
    for (auto& [level, tasks] : rounds_) {
      powers_.lower(uses_of(tasks));
      const std::size_t size = std::max<std::size_t>(1, switched_together(ctx_, level + 1) / count_);
      for (std::size_t done = 0; done < tasks.size(); done += size) {
        run_round(std::span(tasks).subspan(done, std::min(size, tasks.size() - done)));
      }
    }
    std::vector<ciphertexts> results;
    for (const sum_node& root : plan.roots) results.push_back(std::move(results_.at(&root)));
    return results;
  }

 private:
  void add_power(unsigned power) {
    const auto [first, second] = power_factors(power);
    const unsigned level = powers_.level(power);
    task made{nullptr, power, level, powers_.scale(power, level), 0.0, {}, 0.0, way::ignored, level + 1, 0};
    if (powers_.basis() == polynomial_basis::chebyshev) {
      const unsigned difference = first - second;
      if (difference == 0)
        made.constant = -1.0;
      else if (powers_.subtracts_early(power))
        made.terms.emplace_back(difference, -1.0);
      else
        made.late = difference;
    }
    rounds_[level].push_back(std::move(made));
  }

  /// Scales follow from those that the powers will have.
  void add_node(const sum_node& node, const polynomial_target& to) {
    const auto raw = static_cast<double>(to.scale * ckks::rescale_ratio(parameters_, to.level + 1));
    task made{&node, 0, to.level, to.scale, raw, {}, node.constant.real(), way::ignored, to.level + 1, 0};
    bool can_ignore = true;
    unsigned lowest = powers_.level(1);
    for (const auto& [power, coefficient] : node.terms) {
      made.terms.emplace_back(power, coefficient.real());
      can_ignore &= ckks::has_primes_of(parameters_, powers_.level(power), to.level + 1);
      lowest = std::min(lowest, powers_.level(power));
    }
    if (!can_ignore) {
      made.terms_by = !node.products.empty() || lowest == to.level + 1 ? way::divided : way::direct;
      made.from = lowest;
    }
    rounds_[to.level].push_back(std::move(made));
    for (const product_node& product : node.products) {
      add_node(*product.factor, {to.level + 1, raw / powers_.scale(product.giant, to.level + 1)});
    }
  }

  /// Powers that must have come down before a round.
  [[nodiscard]] std::vector<power_use> uses_of(std::span<const task> tasks) const {
    std::vector<power_use> uses;
    for (const task& each : tasks) {
      if (each.node == nullptr) {
        const auto [first, second] = power_factors(each.power);
        uses.insert(uses.end(), {{first, each.level + 1}, {second, each.level + 1}});
        continue;
      }
      for (const product_node& product : each.node->products) uses.push_back({product.giant, each.level + 1});
      if (each.terms_by == way::ignored) continue;
      for (const auto& [power, coefficient] : each.terms) uses.push_back({power, each.from, true});
    }
    return uses;
  }

  void run_round(std::span<task> tasks) {
    add_products(tasks);
    add_terms(tasks);
    bring_down(tasks);
    finish(tasks);
    add_constants(tasks);
    subtract_late(tasks);
    for (task& each : tasks) {
      if (each.node == nullptr)
        powers_.store(each.power, std::move(each.sums));
      else
        results_.emplace(each.node, std::move(each.sums));
    }
  }

  /// Adds the products of a task, for every variable.
  void add_factors(const task& each, std::span<ckks::product_sum> sums) {
    const auto add = [&](const std::vector<const ciphertext*>& a, const std::vector<const ciphertext*>& b) {
      for (std::size_t k = 0; k < count_; ++k) sums[k].emplace_back(a[k], b[k]);
    };
    if (each.node == nullptr) {
      const auto [first, second] = power_factors(each.power);
      add(powers_.at(first, each.level + 1), powers_.at(second, each.level + 1));
      return;
    }
    for (const product_node& product : each.node->products) {
      add(ckks::pointers(results_.at(product.factor.get())), powers_.at(product.giant, each.level + 1));
    }
  }

  /// Sums of products, three components.
  void add_products(std::span<task> tasks) {
    std::vector<ckks::product_sum> sums;
    std::vector<ciphertexts*> places;
    for (task& each : tasks) {
      if (!has_products(each)) continue;
      sums.resize(sums.size() + count_);
      add_factors(each, std::span(sums).last(count_));
      places.push_back(&each.sums);
    }
    if (sums.empty()) return;
    const backend::scoped_operation named("dot");
    distribute(ckks::unfinished_sums(ctx_, sums, tasks.front().level + 1), places, count_);
    for (task& each : tasks) {
      if (each.node != nullptr) {
        for (const product_node& product : each.node->products) results_.erase(product.factor.get());
      } else if (powers_.basis() == polynomial_basis::chebyshev) {
        // The factors have twice the scale: taken at half of it the product is 2 T_a T_b.
        for (ciphertext& sum : each.sums) sum.scale /= 2;
      }
    }
  }

  /// Where the terms of a task are added up.
  [[nodiscard]] static ciphertexts& total_of(task& each) {
    return each.terms_by == way::ignored ? each.sums : each.apart;
  }

  /// Term i of a task for every variable, at the scale at which its terms meet.
  void add_multiples(const task& each, std::size_t i, std::vector<ckks::multiple>& all) {
    const auto [power, coefficient] = each.terms[i];
    const bool ignores = each.terms_by == way::ignored;
    double meeting = each.raw_scale;
    if (ignores && !each.sums.empty()) meeting = each.sums.front().scale;
    if (!ignores && each.from != each.level + 1) {
      // Above the product's level a sum has the scale of a product that has not been rescaled.
      const double canonical = parameters_.level(each.from).scale;
      meeting = canonical * canonical;
    }
    for (const ciphertext* value :
         ignores ? powers_.at(power, each.from) : powers_.exactly(power, each.from)) {
      all.push_back({value, coefficient, meeting / value->scale, each.from});
    }
  }

  /// Terms of all tasks, one of each at a time.
  void add_terms(std::span<task> tasks) {
    std::vector<std::size_t> done(tasks.size());
    start_terms(tasks, done);
    while (true) {
      std::vector<ckks::multiple> some;
      std::vector<ciphertext*> totals;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (done[i] == tasks[i].terms.size()) continue;
        add_multiples(tasks[i], done[i]++, some);
        append(totals, total_of(tasks[i]));
      }
      if (some.empty()) return;
      ckks::add_multiples(ctx_, totals, some);
    }
  }

  /// Makes sums of the first terms where there is nothing to add them to.
  void start_terms(std::span<task> tasks, std::vector<std::size_t>& done) {
    std::vector<ckks::multiple> some;
    std::vector<ciphertexts*> places;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].terms.empty() || !total_of(tasks[i]).empty()) continue;
      add_multiples(tasks[i], done[i]++, some);
      places.push_back(&total_of(tasks[i]));
    }
    if (some.empty()) return;
    distribute(ckks::multiples(ctx_, some), places, count_);
    for (task& each : tasks) {
      if (has_products(each) || each.terms_by != way::ignored) continue;
      for (ciphertext& sum : each.sums) sum.scale = each.raw_scale;
    }
  }

  /// Divides what was summed apart, one division for each sum, and what is taken off later; adds the sums to
  /// the products.
  void bring_down(std::span<task> tasks) {
    std::vector<ckks::adjustment> targets;
    std::vector<ciphertexts*> places;
    for (task& each : tasks) {
      if (each.late != 0) {
        for (const ciphertext* value : powers_.exactly(each.late, powers_.level(each.late))) {
          targets.push_back({value, each.level, each.scale});
        }
        places.push_back(&each.lowered);
      }
      const bool direct = each.terms_by == way::direct;
      const unsigned level = direct ? each.level : each.level + 1;
      if (each.apart.empty() || each.from == level) continue;
      for (const ciphertext& value : each.apart) {
        targets.push_back({&value, level, direct ? each.scale : each.raw_scale});
      }
      places.push_back(&each.apart);
    }
    if (!targets.empty()) {
      const backend::scoped_operation named("adjust");
      distribute(ckks::adjusted(ctx_, targets), places, count_);
    }
    add_to_products(tasks);
  }

  void add_to_products(std::span<task> tasks) {
    std::vector<ciphertext*> sums, addends;
    for (task& each : tasks) {
      if (each.apart.empty()) continue;
      if (!has_products(each)) {
        each.sums = std::exchange(each.apart, {});
        continue;
      }
      append(sums, each.sums);
      append(addends, each.apart);
    }
    if (!sums.empty()) ckks::add_to(ctx_, sums, constant(addends));
    for (task& each : tasks) each.apart.clear();
  }

  /// One key switch for all sums with products, one division for those without.
  void finish(std::span<task> tasks) {
    std::vector<ciphertext*> switched, divided;
    std::vector<ciphertexts*> switched_places, divided_places;
    for (task& each : tasks) {
      if (has_products(each)) {
        append(switched, each.sums);
        switched_places.push_back(&each.sums);
      } else if (each.terms_by != way::direct) {
        append(divided, each.sums);
        divided_places.push_back(&each.sums);
      }
    }
    if (!switched.empty()) distribute(eval_.finish_product(constant(switched)), switched_places, count_);
    if (!divided.empty()) distribute(eval_.rescale(constant(divided)), divided_places, count_);
  }

  void add_constants(std::span<task> tasks) {
    std::vector<ciphertext*> values;
    std::vector<double> constants;
    for (task& each : tasks) {
      if (each.constant == 0.0) continue;
      append(values, each.sums);
      constants.resize(values.size(), each.constant);
    }
    if (!values.empty()) ckks::add_constants(ctx_, values, constants);
  }

  /// Takes T_(a-b) off 2 T_a T_b where it has come down by itself.
  void subtract_late(std::span<task> tasks) {
    std::vector<ciphertext*> values, subtrahends;
    for (task& each : tasks) {
      if (each.late == 0) continue;
      append(values, each.sums);
      append(subtrahends, each.lowered);
    }
    if (!values.empty()) ckks::subtract_from(ctx_, values, constant(subtrahends));
    for (task& each : tasks) each.lowered.clear();
  }

  ckks::evaluator& eval_;
  ckks::context& ctx_;
  const params::parameters& parameters_;
  power_basis& powers_;
  std::size_t count_;                                             ///< of variables
  std::map<unsigned, std::vector<task>, std::greater<>> rounds_;  ///< by the level of results
  std::map<const sum_node*, ciphertexts> results_;
};

bool is_real(const sum_node& node) {
  const auto real = [](const auto& term) { return term.second.imag() == 0.0; };
  const auto real_factor = [](const product_node& product) { return is_real(*product.factor); };
  return node.constant.imag() == 0.0 && std::ranges::all_of(node.terms, real) &&
         std::ranges::all_of(node.products, real_factor);
}

}  // namespace

std::size_t switched_together(ckks::context& ctx, unsigned level) {
  if (ctx.cache_bytes() == 0 || ctx.joining_budget() != 0) return 1;
  return ckks::switched_in_one_group(ctx, ctx.parameters().level(level).q);
}

bool goes_in_rounds(const ckks::context& ctx, const evaluation_plan& plan) {
  return ctx.cache_bytes() != 0 && ctx.joining_budget() == 0 && std::ranges::all_of(plan.roots, is_real);
}

std::vector<ciphertexts> evaluate_in_rounds(ckks::evaluator& eval, power_basis& powers,
                                            const evaluation_plan& plan,
                                            std::span<const polynomial_target> targets) {
  return round_evaluator(eval, powers).run(plan, targets);
}

}  // namespace halocline::circuits::detail
