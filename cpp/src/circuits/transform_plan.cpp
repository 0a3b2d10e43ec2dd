// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/transform_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "circuits/switch_work.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

int floor_divide(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

int wrap(int index, int slots) { return ((index % slots) + slots) % slots; }

/// Indices in (-slots, slots), shifted by multiples of `slots` so that they avoid their widest cyclic gap;
/// ascending.
std::vector<int> unwrap(std::span<const int> diagonals, int slots) {
  std::vector<int> sorted;
  for (const int d : diagonals) {
    HALOCLINE_EXPECTS(d > -slots && d < slots, invalid_argument, "transform plan: diagonal ", d,
                      " is outside (-slots, slots) for ", slots, " slots");
    sorted.push_back(wrap(d, slots));
  }
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  HALOCLINE_EXPECTS(twice == sorted.end(), invalid_argument, "transform plan: diagonal ",
                    twice == sorted.end() ? 0 : *twice,
                    " is given twice (d and d - slots are the same diagonal)");
  std::size_t start = 0;
  int widest = sorted.front() + slots - sorted.back();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > widest) {
      widest = sorted[i] - sorted[i - 1];
      start = i;
    }
  }
  if (start != 0) {
    for (std::size_t i = start; i < sorted.size(); ++i) sorted[i] -= slots;
    std::rotate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(start), sorted.end());
  }
  return sorted;
}

std::vector<int> distinct(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

const char* to_string(transform_mode mode) noexcept {
  switch (mode) {
    case transform_mode::naive:
      return "naive";
    case transform_mode::bsgs:
      return "bsgs";
    case transform_mode::double_hoisted:
      return "double_hoisted";
    case transform_mode::small_key:
      return "small_key";
  }
  return "unknown";
}

transform_plan::transform_plan(params::parameters parameters, std::span<const int> diagonals,
                               const transform_shape& shape)
    : parameters_(std::move(parameters)), shape_(shape) {
  HALOCLINE_EXPECTS(std::has_single_bit(shape_.slots) && shape_.slots <= parameters_.slots(),
                    invalid_argument, "transform plan: ", shape_.slots,
                    " slots; expected a power of two up to ", parameters_.slots());
  HALOCLINE_EXPECTS(parameters_.has_level(shape_.level), invalid_argument, "transform plan: level ",
                    shape_.level, " does not exist; the highest is ", parameters_.top_level());
  HALOCLINE_EXPECTS(shape_.level > 0, level_exhausted,
                    "transform plan: a linear transform rescales and needs an input of level 1 or higher");
  HALOCLINE_EXPECTS(!diagonals.empty(), invalid_argument,
                    "transform plan: no diagonals; a transform that is 0 everywhere has no encrypted result");
  unwrapped_ = unwrap(diagonals, static_cast<int>(shape_.slots));
  int stride = 0;
  for (const int d : unwrapped_) stride = std::gcd(stride, d);
  baby_step_ = std::max(stride, 1);
  HALOCLINE_EXPECTS(shape_.baby_count != 0U, invalid_argument,
                    "transform plan: 0 babies of each giant; expected at least 1, or none given to let the "
                    "cost model choose");
  split(shape_.baby_count ? static_cast<int>(*shape_.baby_count) : choose_baby_count());
}

/// What is within this of the least work counts as equal: then the fewest keys are better.
constexpr double key_tolerance = 1.02;

void transform_plan::split(int baby_count) {
  terms_.clear();
  const bool flat = shape_.mode == transform_mode::naive;
  giant_step_ = flat ? baby_step_ : baby_step_ * baby_count;
  for (const int d : unwrapped_) {
    const int steps = d / baby_step_;
    const int giant = flat ? 0 : floor_divide(steps, baby_count);
    terms_.push_back({d, giant, flat ? steps : steps - giant * baby_count});
  }
}

int transform_plan::choose_baby_count() const {
  if (shape_.mode == transform_mode::naive) return 1;
  const int span = (unwrapped_.back() - unwrapped_.front()) / baby_step_ + 1;
  // All small counts, then a quarter apart: the cost is flat around its minimum.
  std::vector<int> candidates;
  for (int n = 1; n < span; n += std::max(1, n / 8)) candidates.push_back(n);
  candidates.push_back(std::max(span, std::abs(unwrapped_.back()) / baby_step_ + 1));
  transform_plan trial = *this;
  std::vector<transform_cost> costs;
  double least = std::numeric_limits<double>::infinity();
  for (const int count : candidates) {
    trial.split(count);
    const transform_usage one = trial.full_usage();
    transform_usage all;
    all.babies.assign(shape_.inputs, one.babies.front());
    all.giants.assign(shape_.outputs, one.giants.front());
    costs.push_back(trial.cost(all));
    least = std::min(least, costs.back().work);
  }
  std::size_t best = costs.size();
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].work > least * (shape_.joined ? key_tolerance : 1.0)) continue;
    if (best == costs.size() ||
        std::pair(costs[i].keys, costs[i].work) < std::pair(costs[best].keys, costs[best].work)) {
      best = i;
    }
  }
  return candidates[best];
}

const transform_term& transform_plan::term(int diagonal) const {
  const int slots = static_cast<int>(shape_.slots);
  for (const int candidate : {diagonal, diagonal - slots, diagonal + slots}) {
    const auto found =
        std::lower_bound(terms_.begin(), terms_.end(), candidate,
                         [](const transform_term& a, int value) { return a.diagonal < value; });
    if (found != terms_.end() && found->diagonal == candidate) return *found;
  }
  throw invalid_argument(text("transform plan: it was not made for diagonal ", diagonal,
                              "; add it to the diagonals of the plan"));
}

double transform_plan::weight_scale() const {
  return ckks::matching_plain_scale(parameters_, level(), parameters_.level(level()).scale);
}

std::int64_t transform_plan::rotation(int count, int step) const noexcept {
  const auto slots = static_cast<std::int64_t>(shape_.slots);
  const std::int64_t r = ((static_cast<std::int64_t>(count) * step) % slots + slots) % slots;
  return r > slots / 2 ? r - slots : r;
}

std::vector<int> transform_plan::walk(std::span<const int> giants) {
  std::vector<int> order;
  const auto above = std::upper_bound(giants.begin(), giants.end(), 0);
  const auto below = std::lower_bound(giants.begin(), giants.end(), 0);
  order.assign(std::make_reverse_iterator(giants.end()), std::make_reverse_iterator(above));
  order.insert(order.end(), giants.begin(), below);
  if (above != below) order.push_back(0);
  return order;
}

int transform_plan::next(std::span<const int> order, std::size_t at) const {
  if (is_direct()) return 0;
  const bool more = at + 1 < order.size() && (order[at] > 0) == (order[at + 1] > 0);
  return more ? order[at + 1] : 0;
}

std::vector<int> transform_plan::turns(int from, int to) const {
  if (shape_.mode != transform_mode::small_key || to == 0) return {from - to};
  return std::vector<int>(static_cast<std::size_t>(std::abs(from - to)), from > to ? 1 : -1);
}

std::vector<std::int64_t> transform_plan::giant_rotations(std::span<const int> giants) const {
  std::vector<std::int64_t> rotations;
  const std::vector<int> order = walk(giants);
  for (std::size_t i = 0; i < order.size() && order[i] != 0; ++i) {
    for (const int turn : turns(order[i], next(order, i))) {
      if (const std::int64_t step = rotation(turn, giant_step_); step != 0) rotations.push_back(step);
    }
  }
  return rotations;
}

transform_usage transform_plan::full_usage() const {
  std::vector<int> babies;
  std::vector<int> giants;
  for (const transform_term& each : terms_) {
    babies.push_back(each.baby);
    giants.push_back(each.giant);
  }
  return {{distinct(std::move(babies))}, {distinct(std::move(giants))}, terms_.size()};
}

std::size_t transform_plan::rotating(std::span<const int> counts, int step) const {
  return static_cast<std::size_t>(
      std::count_if(counts.begin(), counts.end(), [&](int count) { return rotation(count, step) != 0; }));
}

std::vector<std::int64_t> transform_plan::required_rotations(const transform_usage& usage) const {
  std::set<std::int64_t> steps;
  const bool walks = shape_.mode == transform_mode::small_key;
  for (const auto& babies : usage.babies) {
    for (const int b : babies) {
      if (!walks) steps.insert(rotation(b, baby_step_));
      if (walks && b > 0) steps.insert(rotation(1, baby_step_));
    }
  }
  for (const auto& giants : usage.giants) {
    for (const std::int64_t turn : giant_rotations(giants)) steps.insert(turn);
  }
  steps.erase(0);
  return {steps.begin(), steps.end()};
}

transform_cost transform_plan::cost(const transform_usage& usage) const {
  const detail::switch_work w = detail::work_at(parameters_, shape_.level);
  const bool walks = shape_.mode == transform_mode::small_key;
  const bool extended = shape_.mode == transform_mode::double_hoisted;
  transform_cost c;
  std::size_t joined = 0;  // babies that are made within the products
  for (const auto& babies : usage.babies) {
    const std::size_t switches =
        walks ? static_cast<std::size_t>(babies.empty() ? 0 : babies.back()) : rotating(babies, baby_step_);
    c.key_switches += switches;
    if (extended && shape_.joined) joined += switches;
    c.decompositions += walks ? switches : std::min<std::size_t>(switches, 1);
    c.divisions += extended ? 0 : 2 * switches;
  }
  for (const auto& giants : usage.giants) {
    if (giants.empty()) continue;
    const std::size_t switches = giant_rotations(giants).size();
    c.key_switches += switches;
    c.decompositions += switches;
    c.divisions += (extended ? 1 : 2) * switches + (extended ? 2 : 0);
  }
  c.plaintext_products = usage.products;
  c.keys = required_rotations(usage).size();
  const double product_limbs = w.limbs + (extended ? w.special : 0.0);
  const double per_product =
      (extended && shape_.joined ? detail::joined_product : detail::written_product) * product_limbs * w.pass;
  c.work = static_cast<double>(c.key_switches - joined) * w.multiply + static_cast<double>(joined) * w.join +
           static_cast<double>(c.decompositions) * w.raise + static_cast<double>(c.divisions) * w.divide +
           static_cast<double>(c.plaintext_products) * per_product;
  return c;
}

}  // namespace halocline::circuits
