// SPDX-License-Identifier: Apache-2.0
#include "circuits/transform_executor.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"
#include "halocline/rns/mod_up.hpp"

namespace halocline::circuits::detail {
namespace {

using ckks::ciphertext;
using ckks::poly_pair;
using memory::object_class;

/// Pairs of polynomials by number of baby or giant steps. In double hoisting they span special + chain primes
/// and are multiplied by P, otherwise they span the primes of the level.
using pair_map = std::map<int, poly_pair>;

poly_pair to_pair(ciphertext&& value) { return {std::move(value.parts[0]), std::move(value.parts[1])}; }

void add_into(ckks::context& ctx, const ring::poly& target, const ring::poly& source) {
  const std::vector<backend::limb_view> to = target.views();
  const std::vector<backend::limb_view> from = source.views();
  std::vector<backend::binary_job> jobs;
  for (std::size_t v = 0; v < to.size(); ++v) jobs.push_back({to[v], to[v], from[v]});
  ctx.device().add(ctx.tables(), jobs);
}

void add_pair(ckks::context& ctx, std::optional<poly_pair>& total, poly_pair&& term) {
  if (!total) {
    total = std::move(term);
    return;
  }
  add_into(ctx, total->first, term.first);
  add_into(ctx, total->second, term.second);
}

poly_pair turn_pair(ckks::context& ctx, const poly_pair& source, std::uint64_t element, const char* tag) {
  const auto turn = [&](const ring::poly& part) {
    return ckks::apply_automorphism(ctx, part, element, object_class::scratch, tag);
  };
  return {turn(source.first), turn(source.second)};
}

/// The weights of a cell that belong to one giant step; they are sorted by it.
std::span<const linear_transform::weight> group(const linear_transform& cell, int giant) {
  const std::span<const linear_transform::weight> all = cell.weights();
  const auto begin =
      std::find_if(all.begin(), all.end(), [&](const auto& w) { return w.term.giant == giant; });
  const auto end = std::find_if(begin, all.end(), [&](const auto& w) { return w.term.giant != giant; });
  return all.subspan(static_cast<std::size_t>(begin - all.begin()), static_cast<std::size_t>(end - begin));
}

/// What is known of one output while its giant steps are added from the highest to the lowest.
struct partial_output {
  std::optional<poly_pair> total;
  int giant = 0;  ///< the lowest one so far
};

/// Carries out one evaluation of a grid.
class executor {
 public:
  executor(ckks::evaluator& eval, const grid_view& grid)
      : eval_(eval),
        ctx_(eval.ctx()),
        grid_(grid),
        plan_(*grid.plan),
        usage_(grid.usage()),
        extended_(plan_.mode() == transform_mode::double_hoisted),
        product_scale_(plan_.parameters().level(plan_.level()).scale * plan_.weight_scale()),
        outputs_(grid.outputs()) {}

  std::vector<ciphertext> run(std::span<const ciphertext* const> inputs);

 private:
  void run_by_giant(std::span<const ciphertext* const> inputs);
  void run_by_input(std::span<const ciphertext* const> inputs);
  [[nodiscard]] pair_map make_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] pair_map rotated_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] pair_map extended_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] pair_map walked_babies(const ciphertext& input, std::span<const int> babies);
  [[nodiscard]] poly_pair make_pair(const char* tag) const;
  void add_products(poly_pair& sum, std::span<const linear_transform::weight> weights,
                    const pair_map& babies);
  void fold(partial_output& output, int giant, poly_pair&& sum);
  [[nodiscard]] poly_pair extended_giant(poly_pair&& sum, std::uint64_t element);
  [[nodiscard]] poly_pair rotated(poly_pair&& sum, std::int64_t step);
  [[nodiscard]] ciphertext finish(partial_output&& output);
  [[nodiscard]] ciphertext to_ciphertext(poly_pair&& parts) const;

  ckks::evaluator& eval_;
  ckks::context& ctx_;
  const grid_view& grid_;
  const transform_plan& plan_;
  transform_usage usage_;
  bool extended_;
  double product_scale_;  ///< of the sums before the rescale
  std::vector<partial_output> outputs_;
};

std::vector<ciphertext> executor::run(std::span<const ciphertext* const> inputs) {
  HALOCLINE_EXPECTS(inputs.size() == grid_.inputs, invalid_argument, "linear transform: ", inputs.size(),
                    " inputs; it was made for ", grid_.inputs);
  // Either the babies of all inputs are live and one sum, or the babies of one input and all sums: whichever
  // is less.
  std::size_t all_babies = 0;
  std::size_t most_babies = 0;
  std::size_t all_sums = 0;
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
  std::vector<ciphertext> results;
  for (partial_output& output : outputs_) results.push_back(finish(std::move(output)));
  return results;
}

void executor::run_by_giant(std::span<const ciphertext* const> inputs) {
  std::vector<pair_map> babies(grid_.inputs);
  for (std::size_t i = 0; i < grid_.inputs; ++i) babies[i] = make_babies(*inputs[i], usage_.babies[i]);
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const std::vector<int> descending(usage_.giants[o].rbegin(), usage_.giants[o].rend());
    for (const int giant : descending) {
      poly_pair sum;
      for (std::size_t i = 0; i < grid_.inputs; ++i) {
        if (grid_.cell(o, i) != nullptr) add_products(sum, group(*grid_.cell(o, i), giant), babies[i]);
      }
      fold(outputs_[o], giant, std::move(sum));
    }
  }
}

void executor::run_by_input(std::span<const ciphertext* const> inputs) {
  std::vector<pair_map> sums(outputs_.size());
  for (std::size_t i = 0; i < grid_.inputs; ++i) {
    const pair_map babies = make_babies(*inputs[i], usage_.babies[i]);
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (grid_.cell(o, i) == nullptr) continue;
      for (const int giant : usage_.giants[o]) {
        add_products(sums[o][giant], group(*grid_.cell(o, i), giant), babies);
      }
    }
  }
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    for (auto sum = sums[o].rbegin(); sum != sums[o].rend(); ++sum) {
      fold(outputs_[o], sum->first, std::exchange(sum->second, {}));
    }
  }
}

/// Checks an input, brings it to the plan's level, and rotates it by all `babies`.
pair_map executor::make_babies(const ciphertext& input, std::span<const int> babies) {
  ckks::check(ctx_, input, "linear transform");
  HALOCLINE_EXPECTS(input.parts.size() == 2, invalid_argument, "linear transform: the input has ",
                    input.parts.size(), " components; relinearize it first");
  HALOCLINE_EXPECTS(input.slots == plan_.slots(), invalid_argument, "linear transform: the input has ",
                    input.slots, " slots, the transform was made for ", plan_.slots());
  const unsigned level = plan_.level();
  HALOCLINE_EXPECTS(input.level >= level, level_exhausted, "linear transform: encoded for level ", level,
                    ", the input is at level ", input.level, "; make the transform for that level");
  const double scale = ctx_.parameters().level(level).scale;
  if (input.level > level) return rotated_babies(eval_.adjust(input, level, scale), babies);
  HALOCLINE_EXPECTS(ckks::detail::same_scale(input.scale, scale, ckks::detail::manual_tolerance),
                    scale_mismatch, "linear transform: the input has scale 2^", std::log2(input.scale),
                    ", the canonical one is 2^", std::log2(scale), "; adjust it first");
  return rotated_babies(input, babies);
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
  rns::raised_digits digits;
  pair_map result;
  for (const int b : babies) {
    const std::int64_t step = plan_.rotation(b, plan_.baby_step());
    if (step == 0) {
      poly_pair same = make_pair(tag);
      ctx_.device().set_zero(ctx_.tables(), same.first.views());
      ctx_.device().set_zero(ctx_.tables(), same.second.views());
      ckks::add_times_special(ctx_, same.first, input.parts[0].chain());
      ckks::add_times_special(ctx_, same.second, input.parts[1].chain());
      result.emplace(b, std::move(same));
      continue;
    }
    if (digits.digits.empty()) digits = rns::mod_up(ctx_.ring(), ctx_.converter(), input.parts[1].chain());
    const std::uint64_t element = ctx_.parameters().galois_element(step);
    const poly_pair product =
        ckks::key_product(ctx_, digits, eval_.keys().get(element, plan_.level()), input.parts[0].chain());
    result.emplace(b, turn_pair(ctx_, product, element, tag));
  }
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
  const backend::window special = extended_ ? parameters.special_window() : backend::window{};
  const backend::window chain = parameters.level(plan_.level()).q;
  const object_class cls = extended_ ? object_class::scratch : object_class::ciphertext;
  return {{ctx_.ring(), special, chain, cls, tag}, {ctx_.ring(), special, chain, cls, tag}};
}

void executor::add_products(poly_pair& sum, std::span<const linear_transform::weight> weights,
                            const pair_map& babies) {
  if (weights.empty()) return;
  const bool fresh = !sum.first;
  if (fresh) sum = make_pair("linear_transform.sum");
  std::vector<ring::poly> expanded(weights.size());
  std::vector<const ring::poly*> diagonals;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const bool ready = static_cast<bool>(weights[k].expanded);
    if (!ready) expanded[k] = expand_diagonal(ctx_, weights[k].compact, plan_, object_class::scratch);
    diagonals.push_back(ready ? &weights[k].expanded : &expanded[k]);
  }
  std::vector<backend::dot_job> jobs;
  for (const auto component : {&poly_pair::first, &poly_pair::second}) {
    const std::vector<backend::limb_view> targets = (sum.*component).views();
    for (std::size_t v = 0; v < targets.size(); ++v) {
      backend::dot_job job{targets[v], {}, {}, !fresh};
      for (std::size_t k = 0; k < weights.size(); ++k) {
        job.a.push_back((babies.at(weights[k].term.baby).*component).views()[v]);
        job.b.push_back(diagonals[k]->views()[v]);
      }
      jobs.push_back(std::move(job));
    }
  }
  ctx_.device().dot(ctx_.tables(), jobs);
}

/// Rotates a sum over special + chain primes. Only its second component is divided by P, as the input of the
/// decomposition; the first stays undivided and joins the key product.
poly_pair executor::extended_giant(poly_pair&& sum, std::uint64_t element) {
  constexpr const char* tag = "linear_transform.giant";
  const params::parameters& parameters = ctx_.parameters();
  const backend::window chain = parameters.level(plan_.level()).q;
  const rns::division step{parameters.special_window(), chain, chain, {}};
  const ring::poly* const source[] = {&sum.second};
  const std::vector<ring::poly> divided =
      rns::divide(ctx_.ring(), ctx_.converter(), step, source, object_class::scratch, tag);
  sum.second = {};
  const rns::raised_digits digits = rns::mod_up(ctx_.ring(), ctx_.converter(), divided.front().chain());
  const poly_pair product = ckks::key_product(ctx_, digits, eval_.keys().get(element, plan_.level()));
  add_into(ctx_, product.first, sum.first);
  return turn_pair(ctx_, product, element, tag);
}

poly_pair executor::rotated(poly_pair&& sum, std::int64_t step) {
  if (step == 0) return std::move(sum);
  if (extended_) return extended_giant(std::move(sum), ctx_.parameters().galois_element(step));
  return to_pair(eval_.rotate(to_ciphertext(std::move(sum)), step));
}

/// Adds the sum of one giant step to an output. Giants come in descending order: the small-key mode rotates
/// what it has by one stride until it has reached the next, Horner's rule; the other modes rotate the sum all
/// the way.
void executor::fold(partial_output& output, int giant, poly_pair&& sum) {
  if (plan_.mode() == transform_mode::small_key) {
    for (; output.total && output.giant > giant; --output.giant) {
      output.total = rotated(std::move(*output.total), plan_.rotation(1, plan_.giant_step()));
    }
    output.giant = giant;
    add_pair(ctx_, output.total, std::move(sum));
  } else {
    add_pair(ctx_, output.total, rotated(std::move(sum), plan_.rotation(giant, plan_.giant_step())));
  }
}

ciphertext executor::finish(partial_output&& output) {
  if (!extended_) {
    const std::int64_t rest =
        plan_.rotation(output.giant, plan_.giant_step());  // not 0 in small-key mode only
    return eval_.rescale(to_ciphertext(rotated(std::move(*output.total), rest)));
  }
  const unsigned level = plan_.level();
  ciphertext result;
  result.parts = ckks::detail::finish_switch(ctx_, *output.total, level, level - 1);
  result.level = level - 1;
  result.slots = plan_.slots();
  const long double scale = product_scale_ / ckks::detail::rescale_ratio(ctx_.parameters(), level);
  result.scale = ckks::detail::snap_scale(ctx_.parameters(), level - 1, static_cast<double>(scale));
  return result;
}

ciphertext executor::to_ciphertext(poly_pair&& parts) const {
  ciphertext result;
  result.parts.push_back(std::move(parts.first));
  result.parts.push_back(std::move(parts.second));
  result.level = plan_.level();
  result.slots = plan_.slots();
  result.scale = product_scale_;
  return result;
}

}  // namespace

transform_usage grid_view::usage() const {
  transform_usage result;
  result.babies.resize(inputs);
  result.giants.resize(outputs());
  for (std::size_t o = 0; o < outputs(); ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (cell(o, i) == nullptr) continue;
      for (const linear_transform::weight& each : cell(o, i)->weights()) {
        result.babies[i].push_back(each.term.baby);
        result.giants[o].push_back(each.term.giant);
        ++result.products;
      }
    }
  }
  const auto make_distinct = [](std::vector<int>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  for (auto& babies : result.babies) make_distinct(babies);
  for (auto& giants : result.giants) make_distinct(giants);
  return result;
}

ring::poly expand_diagonal(ckks::context& ctx, const ckks::compact_plaintext& source,
                           const transform_plan& plan, memory::object_class cls) {
  const params::parameters& parameters = ctx.parameters();
  const bool extended = plan.mode() == transform_mode::double_hoisted;
  ring::poly result(ctx.ring(), extended ? parameters.special_window() : backend::window{},
                    parameters.level(plan.level()).q, cls, "linear_transform.diagonal");
  std::vector<backend::encode_job> encodings;
  std::vector<backend::unary_job> transforms;
  for (const backend::limb_view& view : result.views()) {
    encodings.push_back({view, &source.coefficients, 1});
    transforms.push_back({view, view});
  }
  ctx.device().encode_expand(ctx.tables(), encodings);
  ctx.device().ntt(ctx.tables(), transforms);
  return result;
}

std::vector<ciphertext> evaluate(ckks::evaluator& eval, const grid_view& grid,
                                 std::span<const ciphertext* const> inputs) {
  const backend::scoped_operation named("transform");
  return executor(eval, grid).run(inputs);
}

}  // namespace halocline::circuits::detail
