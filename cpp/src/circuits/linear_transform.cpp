// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/linear_transform.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "circuits/transform_executor.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using complex = std::complex<double>;

bool is_zero(const std::vector<complex>& diagonal) {
  return std::all_of(diagonal.begin(), diagonal.end(), [](complex value) { return value == complex{}; });
}

transform_shape make_shape(const params::parameters& parameters, const transform_options& options) {
  transform_shape shape;
  shape.mode = options.mode;
  shape.level = options.level.value_or(parameters.max_level());
  shape.slots = options.slots.value_or(static_cast<std::uint32_t>(parameters.slots()));
  shape.baby_count = options.baby_count;
  shape.direct = options.direct;
  return shape;
}

/// Indices of the non-zero diagonals, each checked for its length.
std::vector<int> used_diagonals(const diagonal_map& diagonals, std::uint32_t slots) {
  std::vector<int> used;
  for (const auto& [index, values] : diagonals) {
    HALOCLINE_EXPECTS(values.size() == slots, invalid_argument, "linear transform: diagonal ", index, " has ",
                      values.size(), " entries; expected one for each of the ", slots, " slots");
    if (!is_zero(values)) used.push_back(index);
  }
  return used;
}

/// The plan for all cells, which share their steps. Indices count from 0 to slots - 1.
std::shared_ptr<const transform_plan> make_plan(const params::parameters& parameters,
                                                std::span<const diagonal_map* const> cells,
                                                const transform_shape& shape) {
  std::set<int> used;
  for (const diagonal_map* cell : cells) {
    for (const int index : used_diagonals(*cell, shape.slots)) {
      used.insert(index < 0 ? index + static_cast<int>(shape.slots) : index);
    }
  }
  const std::vector<int> indices(used.begin(), used.end());
  return std::make_shared<const transform_plan>(parameters, indices, shape);
}

/// The least power of two after which the values repeat themselves.
std::size_t period_of(const std::vector<complex>& values) {
  std::size_t period = values.size();
  while (period > 1 && std::equal(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(period / 2),
                                  values.begin() + static_cast<std::ptrdiff_t>(period / 2))) {
    period /= 2;
  }
  return period;
}

/// `values` rotated to the right by `steps`.
std::vector<complex> rotate_right(const std::vector<complex>& values, std::int64_t steps) {
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t shift = ((-steps) % size + size) % size;
  std::vector<complex> result(values.size());
  std::rotate_copy(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shift), values.end(),
                   result.begin());
  return result;
}

}  // namespace

diagonal_map diagonals_of(std::span<const complex> matrix, std::uint32_t slots) {
  HALOCLINE_EXPECTS(matrix.size() == std::size_t{slots} * slots, invalid_argument,
                    "diagonals_of: ", matrix.size(), " entries; a square matrix for ", slots, " slots has ",
                    std::size_t{slots} * slots);
  diagonal_map result;
  for (std::uint32_t d = 0; d < slots; ++d) {
    std::vector<complex> diagonal(slots);
    for (std::uint32_t i = 0; i < slots; ++i) diagonal[i] = matrix[std::size_t{i} * slots + (i + d) % slots];
    if (!is_zero(diagonal)) result.emplace(static_cast<int>(d), std::move(diagonal));
  }
  return result;
}

namespace {

/// Names an expanded diagonal by its contents. Its coefficients are kept where plans may expand it again from
/// them, unless they are no smaller.
void register_weight(ckks::context& ctx, transform_weight& weight, std::uint64_t identity, bool repeated) {
  std::shared_ptr<const ckks::compact_plaintext> kept;
  if (ctx.runtime().options().keep_sources && !repeated) {
    kept = std::make_shared<ckks::compact_plaintext>(std::move(weight.compact));
  }
  weight.compact.coefficients = {};
  ckks::register_plaintext(ctx, weight.expanded, identity, std::move(kept));
}

/// One diagonal, as the plan splits it.
transform_weight encode(ckks::evaluator& eval, const transform_plan& plan, int index,
                        const std::vector<complex>& diagonal, bool compact) {
  ckks::context& ctx = eval.context();
  transform_weight w;
  w.term = plan.term(index);
  std::vector<complex> values = rotate_right(diagonal, plan.rotation(w.term.giant, plan.giant_step()));
  // Values that repeat themselves with period p are a polynomial in X^(N/2p), whose points repeat as well.
  values.resize(period_of(values));
  const auto points = static_cast<unsigned>(std::countr_zero(2 * values.size()));
  const unsigned spare = ctx.parameters().log_n() - points;
  const unsigned log_repeat = spare < backend::least_log_repeat ? 0 : spare;
  w.compact =
      eval.encoder().encode_compact(values, plan.weight_scale(), static_cast<std::uint32_t>(values.size()));
  const std::uint64_t contents = ckks::hash_of(values);
  if (!compact || log_repeat != 0) {
    w.expanded = detail::expand_diagonal(ctx, w.compact, plan, memory::object_class::plaintext, log_repeat);
    register_weight(ctx, w, ckks::identity_of("diagonal", contents, plan.level()), log_repeat != 0);
  } else {
    const std::uint64_t scale = std::bit_cast<std::uint64_t>(plan.weight_scale());
    ctx.runtime().set_identity(w.compact.coefficients,
                               ckks::identity_of("compact diagonal", contents, scale));
  }
  return w;
}

/// The diagonals of a cell that are not 0, by giant.
std::vector<transform_weight> encode(ckks::evaluator& eval, const transform_plan& plan,
                                     const diagonal_map& diagonals, bool compact) {
  std::vector<transform_weight> weights;
  for (const int index : used_diagonals(diagonals, plan.slots())) {
    weights.push_back(encode(eval, plan, index, diagonals.at(index), compact));
  }
  std::stable_sort(weights.begin(), weights.end(), [](const transform_weight& a, const transform_weight& b) {
    return a.term.giant < b.term.giant;
  });
  return weights;
}

/// The cells of all rows, one row after the other.
std::vector<const diagonal_map*> flatten(const std::vector<std::vector<diagonal_map>>& cells) {
  HALOCLINE_EXPECTS(!cells.empty() && !cells.front().empty(), invalid_argument,
                    "transform grid: no cells; expected cells[output][input] with at least one of each");
  std::vector<const diagonal_map*> result;
  for (const auto& row : cells) {
    HALOCLINE_EXPECTS(row.size() == cells.front().size(), invalid_argument, "transform grid: a row has ",
                      row.size(), " cells, the first has ", cells.front().size(),
                      "; rows must be equally long");
    for (const diagonal_map& cell : row) result.push_back(&cell);
  }
  return result;
}

}  // namespace

std::vector<ckks::key_request> rotation_requests(const params::parameters& parameters,
                                                 std::span<const std::int64_t> rotations, unsigned level) {
  std::set<std::uint64_t> elements;
  for (const std::int64_t step : rotations) elements.insert(parameters.galois_element(step));
  std::vector<ckks::key_request> requests;
  requests.reserve(elements.size());
  for (const std::uint64_t element : elements) requests.push_back({element, level});
  return requests;
}

transform_grid::transform_grid(ckks::evaluator& eval, const std::vector<std::vector<diagonal_map>>& cells,
                               const transform_options& options)
    : transform_grid(eval, flatten(cells), cells.empty() ? 0 : cells.front().size(), options) {}

transform_grid::transform_grid(ckks::evaluator& eval, std::span<const diagonal_map* const> cells,
                               std::size_t inputs, const transform_options& options)
    : inputs_(inputs) {
  const params::parameters& parameters = eval.context().parameters();
  transform_shape shape = make_shape(parameters, options);
  shape.inputs = inputs;
  shape.outputs = cells.size() / inputs;
  plan_ = make_plan(parameters, cells, shape);
  bool any = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells_.push_back(encode(eval, *plan_, *cells[i], options.compact));
    any = (any && i % inputs != 0) || !cells_.back().empty();
    HALOCLINE_EXPECTS(any || (i + 1) % inputs != 0, invalid_argument,
                      "transform grid: an output has only zero cells; it has no encrypted result");
  }
}

transform_usage transform_grid::usage() const {
  transform_usage result;
  result.babies.resize(inputs());
  result.giants.resize(outputs());
  for (std::size_t o = 0; o < outputs(); ++o) {
    for (std::size_t i = 0; i < inputs(); ++i) {
      for (const transform_weight& each : cell(o, i)) {
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

std::vector<ckks::ciphertext> transform_grid::apply(ckks::evaluator& eval,
                                                    std::span<const ckks::ciphertext* const> inputs) const {
  return detail::evaluate(eval, *this, inputs);
}

std::vector<std::int64_t> transform_grid::required_rotations() const {
  return plan_->required_rotations(usage());
}

std::vector<ckks::key_request> transform_grid::key_requests() const {
  return rotation_requests(plan_->parameters(), required_rotations(), level());
}

transform_cost transform_grid::cost() const { return plan_->cost(usage()); }

std::size_t transform_grid::bytes() const noexcept {
  std::size_t total = 0;
  for (const auto& weights : cells_) {
    for (const transform_weight& each : weights) total += each.expanded.data().size() + each.compact.bytes();
  }
  return total;
}

linear_transform::linear_transform(ckks::evaluator& eval, const diagonal_map& diagonals,
                                   const transform_options& options)
    : grid_(eval, std::vector<const diagonal_map*>{&diagonals}, 1, options) {}

ckks::ciphertext linear_transform::apply(ckks::evaluator& eval, const ckks::ciphertext& input) const {
  const backend::scoped_operation named("linear_transform");
  const ckks::ciphertext* const inputs[] = {&input};
  return std::move(grid_.apply(eval, inputs).front());
}

}  // namespace halocline::circuits
