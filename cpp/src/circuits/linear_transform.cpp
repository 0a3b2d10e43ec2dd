// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/linear_transform.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "circuits/transform_executor.hpp"
#include "halocline/backend/scoped_operation.hpp"
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
  shape.slots = options.slots != 0 ? options.slots : static_cast<std::uint32_t>(parameters.slots());
  shape.baby_count = options.baby_count;
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

std::shared_ptr<const transform_plan> make_plan(const ckks::evaluator& eval, const diagonal_map& diagonals,
                                                const transform_options& options) {
  const params::parameters& parameters = eval.ctx().parameters();
  const transform_shape shape = make_shape(parameters, options);
  return std::make_shared<const transform_plan>(parameters, used_diagonals(diagonals, shape.slots), shape);
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

/// Names an expanded diagonal by its contents. Its coefficients stay where plans may want to expand them
/// again, unless they are no smaller.
void register_weight(ckks::context& ctx, linear_transform::weight& weight, std::uint64_t identity,
                     bool repeated) {
  std::shared_ptr<const ckks::compact_plaintext> kept;
  if (ctx.runtime().options().keep_sources && !repeated) {
    kept = std::make_shared<ckks::compact_plaintext>(std::move(weight.compact));
  }
  weight.compact.coefficients = {};
  ckks::register_plaintext(ctx, weight.expanded, identity, std::move(kept));
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

linear_transform::linear_transform(ckks::evaluator& eval, const diagonal_map& diagonals,
                                   const transform_options& options)
    : linear_transform(eval, diagonals, make_plan(eval, diagonals, options), options.compact) {}

linear_transform::linear_transform(ckks::evaluator& eval, const diagonal_map& diagonals,
                                   std::shared_ptr<const transform_plan> plan, bool compact)
    : plan_(std::move(plan)) {
  ckks::context& ctx = eval.ctx();
  const params::parameters& parameters = ctx.parameters();
  HALOCLINE_EXPECTS(parameters == plan_->parameters(), invalid_argument,
                    "linear transform: the plan was made for other parameters");
  for (const int index : used_diagonals(diagonals, plan_->slots())) {
    weight w;
    w.term = plan_->term(index);
    const std::int64_t giant = plan_->rotation(w.term.giant, plan_->giant_step());
    std::vector<complex> values = rotate_right(diagonals.at(index), giant);
    // Values that repeat themselves with period p are a polynomial in X^(N/2p), whose points repeat as well.
    values.resize(period_of(values));
    const auto points = static_cast<unsigned>(std::countr_zero(2 * values.size()));
    const unsigned spare = parameters.log_n() - points;
    const unsigned log_repeat = spare < backend::least_log_repeat ? 0 : spare;
    w.compact = eval.encode().encode_compact(values, plan_->weight_scale(),
                                             static_cast<std::uint32_t>(values.size()));
    const std::uint64_t contents = ckks::hash_of(values);
    if (!compact || log_repeat != 0) {
      w.expanded =
          detail::expand_diagonal(ctx, w.compact, *plan_, memory::object_class::plaintext, log_repeat);
      register_weight(ctx, w, ckks::identity_of("diagonal", contents, plan_->level()), log_repeat != 0);
    } else {
      const std::uint64_t scale = std::bit_cast<std::uint64_t>(plan_->weight_scale());
      ctx.runtime().set_identity(w.compact.coefficients,
                                 ckks::identity_of("compact diagonal", contents, scale));
    }
    weights_.push_back(std::move(w));
  }
  HALOCLINE_EXPECTS(!weights_.empty(), invalid_argument,
                    "linear transform: all diagonals are 0; such a transform has no encrypted result");
  std::stable_sort(weights_.begin(), weights_.end(),
                   [](const weight& a, const weight& b) { return a.term.giant < b.term.giant; });
}

ckks::ciphertext linear_transform::apply(ckks::evaluator& eval, const ckks::ciphertext& input) const {
  const backend::scoped_operation named("linear_transform");
  const ckks::ciphertext* const inputs[] = {&input};
  return std::move(detail::evaluate(eval, {plan_.get(), 1, {this}}, inputs).front());
}

std::vector<std::int64_t> linear_transform::required_rotations() const {
  return plan_->required_rotations(detail::grid_view{plan_.get(), 1, {this}}.usage());
}

std::vector<ckks::key_request> linear_transform::key_requests() const {
  return rotation_requests(plan_->parameters(), required_rotations(), level());
}

transform_cost linear_transform::cost() const {
  return plan_->cost(detail::grid_view{plan_.get(), 1, {this}}.usage());
}

std::size_t linear_transform::bytes() const noexcept {
  std::size_t total = 0;
  for (const weight& each : weights_) total += each.expanded.data().size() + each.compact.bytes();
  return total;
}

transform_grid::transform_grid(ckks::evaluator& eval, const std::vector<std::vector<diagonal_map>>& cells,
                               const transform_options& options) {
  HALOCLINE_EXPECTS(!cells.empty() && !cells.front().empty(), invalid_argument,
                    "transform grid: no cells; expected cells[output][input] with at least one of each");
  inputs_ = cells.front().size();
  const params::parameters& parameters = eval.ctx().parameters();
  transform_shape shape = make_shape(parameters, options);
  shape.inputs = inputs_;
  shape.outputs = cells.size();
  std::set<int> used;
  for (const auto& row : cells) {
    HALOCLINE_EXPECTS(row.size() == inputs_, invalid_argument, "transform grid: a row has ", row.size(),
                      " cells, the first has ", inputs_, "; rows must be equally long");
    for (const diagonal_map& cell : row) {
      for (const int index : used_diagonals(cell, shape.slots)) {
        used.insert(index < 0 ? index + static_cast<int>(shape.slots) : index);
      }
    }
  }
  const std::vector<int> indices(used.begin(), used.end());
  plan_ = std::make_shared<const transform_plan>(parameters, indices, shape);
  for (const auto& row : cells) {
    bool any = false;
    for (const diagonal_map& cell : row) {
      const bool zero = used_diagonals(cell, shape.slots).empty();
      any = any || !zero;
      cells_.emplace_back();
      if (!zero) cells_.back().emplace(eval, cell, plan_, options.compact);
    }
    HALOCLINE_EXPECTS(any, invalid_argument,
                      "transform grid: an output has only zero cells; it has no encrypted ", "result");
  }
}

std::vector<const linear_transform*> transform_grid::view() const {
  std::vector<const linear_transform*> result;
  for (const auto& cell : cells_) result.push_back(cell ? &*cell : nullptr);
  return result;
}

std::vector<ckks::ciphertext> transform_grid::apply(ckks::evaluator& eval,
                                                    std::span<const ckks::ciphertext* const> inputs) const {
  return detail::evaluate(eval, {plan_.get(), inputs_, view()}, inputs);
}

std::vector<std::int64_t> transform_grid::required_rotations() const {
  return plan_->required_rotations(detail::grid_view{plan_.get(), inputs_, view()}.usage());
}

std::vector<ckks::key_request> transform_grid::key_requests() const {
  return rotation_requests(plan_->parameters(), required_rotations(), level());
}

transform_cost transform_grid::cost() const {
  return plan_->cost(detail::grid_view{plan_.get(), inputs_, view()}.usage());
}

std::size_t transform_grid::bytes() const noexcept {
  std::size_t total = 0;
  for (const auto& cell : cells_) total += cell ? cell->bytes() : 0;
  return total;
}

}  // namespace halocline::circuits
