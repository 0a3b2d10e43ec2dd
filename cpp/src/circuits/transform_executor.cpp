// SPDX-License-Identifier: Apache-2.0
#include "circuits/transform_executor.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "circuits/giant_rounds.hpp"
#include "circuits/transform_joined.hpp"
#include "circuits/turned_sums.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_up.hpp"

namespace halocline::circuits::detail {
namespace {

using ckks::ciphertext;
using ckks::poly_pair;
using memory::object_class;

/// Pairs of polynomials by number of baby or giant steps. In double hoisting they span special + chain primes
/// and are multiplied by P, otherwise they span the primes of the level.
using pair_map = std::map<int, poly_pair>;

/// A sum that is rotated, and the sum that it is then added to, if that is there already.
struct turning {
  giant_turn turn;
  poly_pair sum;
  std::optional<poly_pair> onto;
};

/// What is added to one sum.
struct summands {
  std::optional<poly_pair>* sum;
  std::span<const transform_weight> weights;
  std::vector<const ring::poly*> diagonals;
  bool accumulate;
};

void add_pair(ckks::context& ctx, std::optional<poly_pair>& total, poly_pair&& term) {
  if (!total) {
    total = std::move(term);
    return;
  }
  std::vector<backend::binary_job> jobs;
  for (const auto component : {&poly_pair::first, &poly_pair::second}) {
    const std::vector<backend::limb_view> to = ((*total).*component).views();
    const std::vector<backend::limb_view> from = (term.*component).views();
    for (std::size_t v = 0; v < to.size(); ++v) jobs.push_back({to[v], to[v], from[v]});
  }
  ctx.device().add(ctx.tables(), jobs);
}

/// The weights of a cell that belong to one giant step; they are sorted by it.
std::span<const transform_weight> group(std::span<const transform_weight> all, int giant) {
  const auto begin =
      std::find_if(all.begin(), all.end(), [&](const auto& w) { return w.term.giant == giant; });
  const auto end = std::find_if(begin, all.end(), [&](const auto& w) { return w.term.giant != giant; });
  return all.subspan(static_cast<std::size_t>(begin - all.begin()), static_cast<std::size_t>(end - begin));
}

/// Carries out one evaluation of a grid.
class executor {
 public:
  executor(ckks::evaluator& eval, const transform_grid& grid)
      : eval_(eval),
        ctx_(eval.context()),
        grid_(grid),
        plan_(grid.plan()),
        usage_(grid.usage()),
        extended_(plan_.mode() == transform_mode::double_hoisted),
        product_scale_(plan_.parameters().level(plan_.level()).scale * plan_.weight_scale()),
        totals_(grid.outputs()) {}

  std::vector<ciphertext> run(std::span<const ciphertext* const> inputs);

 private:
  void run_unjoined(std::span<const ciphertext* const> inputs);
  void run_by_giant(std::span<const ciphertext* const> inputs);
  void run_by_input(std::span<const ciphertext* const> inputs);
  void run_joined(std::span<const ciphertext* const> inputs, const baby_keys& keys);
  void walk_sums(std::vector<sum_map>& sums);
  template <typename UseT>
  void with_level(const ciphertext& input, const UseT& use) const;
  [[nodiscard]] pair_map make_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] pair_map rotated_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] pair_map extended_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] pair_map walked_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] poly_pair make_pair(const char* tag) const;
  void add_products(sum_map& sums, std::span<const int> giants, std::span<const transform_weight> cell,
                    const pair_map& babies);
  [[nodiscard]] std::vector<giant_round> rounds(std::size_t output) const {
    return giant_rounds(plan_, usage_.giants[output], giants_at_once(ctx_, plan_));
  }
  template <typename AddT, typename TakeT>
  [[nodiscard]] std::optional<poly_pair> walk(std::span<const giant_round> all, const AddT& add,
                                              const TakeT& take);
  void rotate(std::span<turning> turns);
  void rotate_extended(std::span<turning* const> turns);
  void rotate_together(std::span<turning> turns, std::optional<poly_pair>& result);
  [[nodiscard]] turned_sum to_turn(turning& each);
  [[nodiscard]] std::optional<poly_pair> with_turned(std::optional<poly_pair> rest);
  [[nodiscard]] poly_pair rotated(poly_pair&& sum, std::int64_t step);
  [[nodiscard]] const ckks::evaluation_key& rotation_key(std::uint64_t element) {
    return ckks::matching_key(eval_.keys(), element, plan_.level(), key_, "linear transform");
  }
  /// The components of a rotated ciphertext, whose key identifier may come from the rotation key only.
  [[nodiscard]] poly_pair to_pair(ciphertext&& value) {
    key_ = ckks::common_key(key_, value.key, "linear transform", "an input", "another input");
    return {std::move(value.parts[0]), std::move(value.parts[1])};
  }
  [[nodiscard]] ciphertext finish(poly_pair&& total);
  [[nodiscard]] ciphertext to_ciphertext(poly_pair&& parts) const;

  ckks::evaluator& eval_;
  ckks::context& ctx_;
  const transform_grid& grid_;
  const transform_plan& plan_;
  transform_usage usage_;
  bool extended_;
  double product_scale_;                          ///< of the sums before the rescale
  ckks::key_id key_;                              ///< the secret key of the inputs and of the keys used
  std::vector<std::optional<poly_pair>> totals_;  ///< of the outputs
  /// Without double hoisting, sums that were rotated together; over special + chain primes.
  std::optional<poly_pair> turned_;
};

std::vector<ciphertext> executor::run(std::span<const ciphertext* const> inputs) {
  HALOCLINE_EXPECTS(inputs.size() == grid_.inputs(), invalid_argument, "linear transform: ", inputs.size(),
                    " inputs; it was made for ", grid_.inputs());
  for (const ciphertext* each : inputs) {
    key_ = ckks::common_key(key_, each->key, "linear transform", "an input", "another input");
  }
  if (const std::optional<baby_keys> keys = joined_keys(eval_, plan_, usage_, key_)) {
    run_joined(inputs, *keys);
  } else {
    run_unjoined(inputs);
  }
  std::vector<ciphertext> results;
  for (std::optional<poly_pair>& total : totals_) results.push_back(finish(std::move(*total)));
  return results;
}

void executor::run_unjoined(std::span<const ciphertext* const> inputs) {
  // Either the babies of all inputs are live and one sum, or the babies of one input and all sums: whichever
  // is less.
  std::size_t all_babies = 0, most_babies = 0, all_sums = 0;
  for (const auto& babies : usage_.babies) {
    all_babies += babies.size();
    most_babies = std::max(most_babies, babies.size());
  }
  for (const auto& giants : usage_.giants) all_sums += giants.size();
  if (all_babies < most_babies + all_sums) {
    run_by_giant(inputs);
  } else {
    run_by_input(inputs);
  }
}

void executor::run_joined(std::span<const ciphertext* const> inputs, const baby_keys& keys) {
  std::vector<sum_map> sums(totals_.size());
  for (std::size_t i = 0; i < grid_.inputs(); ++i) {
    with_level(*inputs[i], [&](const ciphertext& lowered) {
      add_joined(ctx_, grid_, {i, usage_.babies[i], lowered}, sums, keys);
    });
  }
  walk_sums(sums);
}

void executor::run_by_giant(std::span<const ciphertext* const> inputs) {
  std::vector<pair_map> babies(grid_.inputs());
  for (std::size_t i = 0; i < grid_.inputs(); ++i) babies[i] = make_babies(*inputs[i], usage_.babies[i]);
  for (std::size_t o = 0; o < totals_.size(); ++o) {
    const std::vector<giant_round> all = rounds(o);
    std::vector<int> rest = order_of(all);
    const std::size_t batch = giants_per_batch(ctx_, grid_, usage_, o);
    sum_map ready;
    const auto take = [&](int giant) {
      auto found = ready.extract(giant);
      return found.empty() ? std::optional<poly_pair>() : std::move(found.mapped());
    };
    const auto add = [&](std::optional<poly_pair>& total, int giant) {
      if (ready.empty()) {
        const auto end = rest.begin() + static_cast<std::ptrdiff_t>(std::min(batch, rest.size()));
        std::vector<int> next(rest.begin(), end);
        rest.erase(rest.begin(), end);
        // Alone, the products of a giant are added to the total as they are made.
        if (next.size() == 1) ready[giant] = std::exchange(total, {});
        for (std::size_t i = 0; i < grid_.inputs(); ++i) {
          if (!grid_.cell(o, i).empty()) add_products(ready, next, grid_.cell(o, i), babies[i]);
        }
      }
      add_pair(ctx_, total, std::move(*ready.at(giant)));
      ready.erase(giant);
    };
    totals_[o] = walk(all, add, take);
  }
}

void executor::run_by_input(std::span<const ciphertext* const> inputs) {
  std::vector<sum_map> sums(totals_.size());
  for (std::size_t i = 0; i < grid_.inputs(); ++i) {
    const pair_map babies = make_babies(*inputs[i], usage_.babies[i]);
    for (std::size_t o = 0; o < totals_.size(); ++o) {
      if (grid_.cell(o, i).empty()) continue;
      for (const int giant : usage_.giants[o]) add_products(sums[o], {&giant, 1}, grid_.cell(o, i), babies);
    }
  }
  walk_sums(sums);
}

void executor::walk_sums(std::vector<sum_map>& sums) {
  for (std::size_t o = 0; o < totals_.size(); ++o) {
    const auto take = [&](int giant) { return std::exchange(sums[o][giant], {}); };
    const auto add = [&](std::optional<poly_pair>& total, int giant) {
      add_pair(ctx_, total, std::move(*take(giant)));
    };
    totals_[o] = walk(rounds(o), add, take);
  }
}

/// Checks an input, brings it to the plan's level, and rotates it by all `babies`.
pair_map executor::make_babies(const ciphertext& input, std::span<const int> babies) {
  pair_map made;
  with_level(input, [&](const ciphertext& lowered) { made = rotated_babies(lowered, babies); });
  return made;
}

/// Checks an input and uses it at the plan's level.
template <typename UseT>
void executor::with_level(const ciphertext& input, const UseT& use) const {
  ckks::check(ctx_, input, "linear transform");
  HALOCLINE_EXPECTS(input.parts.size() == 2, invalid_argument, "linear transform: the input has ",
                    input.parts.size(), " components; relinearize it first");
  HALOCLINE_EXPECTS(input.slots == plan_.slots(), invalid_argument, "linear transform: the input has ",
                    input.slots, " slots, the transform was made for ", plan_.slots());
  const unsigned level = plan_.level();
  HALOCLINE_EXPECTS(input.level >= level, level_exhausted, "linear transform: encoded for level ", level,
                    ", the input is at level ", input.level, "; make the transform for that level");
  const double scale = ctx_.parameters().level(level).scale;
  if (input.level > level) return use(eval_.adjust(input, level, scale));
  HALOCLINE_EXPECTS(ckks::same_scale(input.scale, scale, ckks::manual_tolerance), scale_mismatch,
                    "linear transform: the input has scale 2^", std::log2(input.scale),
                    ", the canonical one is 2^", std::log2(scale), "; adjust it first");
  use(input);
}

pair_map executor::rotated_babies(const ciphertext& input, std::span<const int> babies) {
  if (extended_) return extended_babies(input, babies);
  if (plan_.mode() == transform_mode::small_key) return walked_babies(input, babies);
  std::vector<std::int64_t> steps;
  for (const int b : babies) steps.push_back(plan_.rotation(b, plan_.baby_step()));
  std::vector<ciphertext> rotated = eval_.rotate_hoisted(input, steps);
  pair_map result;
  for (std::size_t i = 0; i < babies.size(); ++i) result.emplace(babies[i], to_pair(std::move(rotated[i])));
  return result;
}

pair_map executor::extended_babies(const ciphertext& input, std::span<const int> babies) {
  constexpr const char* tag = "linear_transform.baby";
  pair_map result;
  std::vector<int> turned;
  std::vector<ckks::joined_product> products;
  for (const int b : babies) {
    const std::int64_t step = plan_.rotation(b, plan_.baby_step());
    if (step == 0) {
      poly_pair same = make_pair(tag);
      ckks::set_times_special(ctx_, same, input.parts[0].chain(), input.parts[1].chain());
      result.emplace(b, std::move(same));
      continue;
    }
    ckks::joined_product& product = products.emplace_back();
    product.options.plus0 = input.parts[0].chain();
    product.options.galois_element = ctx_.parameters().galois_element(step);
    product.options.tag = tag;
    product.key = &rotation_key(product.options.galois_element);
    turned.push_back(b);
  }
  if (products.empty()) return result;
  const rns::raised_digits digits = rns::mod_up(ctx_.ring(), ctx_.converter(), input.parts[1].chain());
  for (ckks::joined_product& each : products) each.digits = &digits;
  ckks::key_products(ctx_, products);
  for (std::size_t i = 0; i < turned.size(); ++i) result.emplace(turned[i], std::move(products[i].total));
  return result;
}

pair_map executor::walked_babies(const ciphertext& input, std::span<const int> babies) {
  pair_map result;
  ciphertext walker;
  const ciphertext* current = &input;
  int position = 0;
  for (const int b : babies) {
    for (; position < b; ++position) {
      walker = eval_.rotate(*current, plan_.rotation(1, plan_.baby_step()));
      current = &walker;
    }
    result.emplace(b, to_pair(ckks::clone(ctx_, *current)));
  }
  return result;
}

poly_pair executor::make_pair(const char* tag) const {
  const params::parameters& parameters = ctx_.parameters();
  return ckks::make_pair(ctx_, extended_ ? parameters.special_window() : arith::window{},
                         parameters.level(plan_.level()).q,
                         extended_ ? object_class::scratch : object_class::ciphertext, tag);
}

/// Adds the products of one cell for some giants. The sums of one component follow each other in the batch,
/// and then those of the other one: devices may make them together.
void executor::add_products(sum_map& sums, std::span<const int> giants,
                            std::span<const transform_weight> cell, const pair_map& babies) {
  std::vector<const ckks::compact_plaintext*> compact;
  for (const int giant : giants) {
    for (const transform_weight& each : group(cell, giant)) {
      if (!each.expanded) compact.push_back(&each.compact);
    }
  }
  const std::vector<ring::poly> expanded = expand_diagonals(ctx_, compact, plan_, object_class::scratch);
  std::size_t taken = 0;
  std::vector<summands> parts;
  for (const int giant : giants) {
    const std::span<const transform_weight> weights = group(cell, giant);
    if (weights.empty()) continue;
    std::optional<poly_pair>& sum = sums[giant];
    parts.push_back({&sum, weights, {}, static_cast<bool>(sum)});
    if (!sum) sum = make_pair("linear_transform.sum");
    for (const transform_weight& each : weights) {
      parts.back().diagonals.push_back(each.expanded ? &each.expanded : &expanded[taken++]);
    }
  }
  std::vector<backend::dot_job> jobs;
  const std::size_t views = parts.empty() ? 0 : (*parts.front().sum)->first.views().size();
  for (std::size_t v = 0; v < views; ++v) {
    for (const auto component : {&poly_pair::first, &poly_pair::second}) {
      for (const summands& part : parts) {
        backend::dot_job job{((**part.sum).*component).views()[v], {}, {}, part.accumulate};
        for (std::size_t k = 0; k < part.weights.size(); ++k) {
          job.a.push_back((babies.at(part.weights[k].term.baby).*component).views()[v]);
          job.b.push_back(part.diagonals[k]->views()[v]);
        }
        jobs.push_back(std::move(job));
      }
    }
  }
  ctx_.device().dot(ctx_.tables(), jobs);
}

poly_pair executor::rotated(poly_pair&& sum, std::int64_t step) {
  return step == 0 ? std::move(sum) : to_pair(eval_.rotate(to_ciphertext(std::move(sum)), step));
}

/// Makes each sum the rotated one, plus the sum that it is added to.
void executor::rotate(std::span<turning> turns) {
  std::vector<turning*> joined;
  for (turning& each : turns) {
    const std::vector<int> counts = plan_.turns(each.turn.giant, each.turn.next);
    if (extended_ && plan_.rotation(counts.front(), plan_.giant_step()) != 0) {
      joined.push_back(&each);
      continue;
    }
    for (const int count : counts) {
      each.sum = rotated(std::move(each.sum), plan_.rotation(count, plan_.giant_step()));
    }
    if (!each.onto) continue;
    add_pair(ctx_, each.onto, std::move(each.sum));
    each.sum = std::move(*each.onto);
  }
  if (!joined.empty()) rotate_extended(joined);
}

turned_sum executor::to_turn(turning& each) {
  const int count = plan_.turns(each.turn.giant, each.turn.next).front();
  const std::uint64_t element = plan_.parameters().galois_element(plan_.rotation(count, plan_.giant_step()));
  turned_sum made{std::move(each.sum), &rotation_key(element), element};
  if (each.onto) made.onto = std::move(*each.onto);
  return made;
}

/// The same of sums over special + chain primes.
void executor::rotate_extended(std::span<turning* const> turns) {
  std::vector<turned_sum> sums;
  for (turning* const each : turns) sums.push_back(to_turn(*each));
  std::vector<poly_pair> turned = turn_each(ctx_, plan_, std::move(sums));
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i]->sum = std::move(turned[i]);
}

/// Adds the rotated sums of a round of a direct plan to the result, which then is over special + chain primes
/// and multiplied by P in either mode.
void executor::rotate_together(std::span<turning> turns, std::optional<poly_pair>& result) {
  std::optional<poly_pair>& turned = extended_ ? result : turned_;
  std::vector<turned_sum> sums;
  for (turning& each : turns) {
    if (plan_.rotation(each.turn.giant, plan_.giant_step()) == 0) {
      add_pair(ctx_, result, std::move(each.sum));
    } else {
      sums.push_back(to_turn(each));
    }
  }
  if (sums.empty()) return;
  if (!turned) turned.emplace();
  add_turned(ctx_, plan_, std::move(sums), *turned);
}

/// The sum of all giants; by Horner's rule, so that one key for each direction serves any number of them,
/// unless the plan is direct. `add(total, giant)` adds the products of one; `take(giant)` is their sum where
/// it is made already, to which a rotated sum is then added without a pass of its own.
template <typename AddT, typename TakeT>
std::optional<poly_pair> executor::walk(std::span<const giant_round> all, const AddT& add,
                                        const TakeT& take) {
  std::optional<poly_pair> result;
  std::optional<poly_pair> sides[2];
  std::map<int, bool> taken;
  for (const giant_round& each : all) {
    std::vector<turning> turns;
    const bool together = plan_.is_direct() && each.size() > 1;
    bool reaches_0 = together;  // the sums are added to the result together
    for (const giant_turn& turn : each) {
      if (turn.giant == 0) {
        if (!taken[0]) add(result, 0);
        return with_turned(std::move(result));
      }
      std::optional<poly_pair>& total = sides[turn.giant < 0 ? 1 : 0];
      if (!taken[turn.giant]) add(total, turn.giant);
      turns.push_back({turn, std::move(*std::exchange(total, {})), {}});
      if (turn.next == 0 && std::exchange(reaches_0, true)) continue;  // one is added to the result
      std::optional<poly_pair>& onto = turns.back().onto;
      if (turn.next == 0 && result) {
        onto = std::exchange(result, {});
      } else {
        onto = take(turn.next);
        taken[turn.next] = static_cast<bool>(onto);
      }
    }
    if (together) {
      rotate_together(turns, result);
      continue;
    }
    rotate(turns);
    for (turning& turned : turns) {
      add_pair(ctx_, turned.turn.next == 0 ? result : sides[turned.turn.giant < 0 ? 1 : 0],
               std::move(turned.sum));
    }
  }
  return with_turned(std::move(result));
}

/// What was not rotated, and what `rotate_together` has put aside.
std::optional<poly_pair> executor::with_turned(std::optional<poly_pair> rest) {
  if (!turned_) return rest;
  if (rest) ckks::add_times_special(ctx_, *turned_, rest->first.chain(), rest->second.chain());
  return std::exchange(turned_, {});
}

ciphertext executor::finish(poly_pair&& total) {
  if (total.first.special().primes.count == 0) return eval_.rescale(to_ciphertext(std::move(total)));
  const unsigned level = plan_.level();
  ciphertext result;
  result.parts = ckks::finish_switch(ctx_, total, level, level - 1);
  result.level = level - 1;
  result.slots = plan_.slots();
  result.key = key_;
  const long double scale = product_scale_ / ckks::rescale_ratio(ctx_.parameters(), level);
  result.scale = ckks::snap_scale(ctx_.parameters(), level - 1, static_cast<double>(scale));
  return result;
}

ciphertext executor::to_ciphertext(poly_pair&& parts) const {
  ciphertext result;
  result.parts.push_back(std::move(parts.first));
  result.parts.push_back(std::move(parts.second));
  result.level = plan_.level();
  result.slots = plan_.slots();
  result.key = key_;
  result.scale = product_scale_;
  return result;
}

}  // namespace

std::vector<ciphertext> evaluate(ckks::evaluator& eval, const transform_grid& grid,
                                 std::span<const ciphertext* const> inputs) {
  const backend::scoped_operation named("transform");
  return executor(eval, grid).run(inputs);
}

}  // namespace halocline::circuits::detail
