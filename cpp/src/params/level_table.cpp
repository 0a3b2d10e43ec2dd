// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/level_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "halocline/core/expects.hpp"

namespace halocline::params {

namespace {

/// More terminals than this never help: with M = 30 the cycle of t is at most 6 long for T a multiple of 5.
constexpr unsigned max_terminals = 8;

/// How far a count of main primes may be from a whole number: room for rounding of fractional sizes.
constexpr double count_tolerance = 1e-6;

bool all_levels_fit(literal source, double base_bits) {
  source.base_bits = base_bits;
  const std::vector<level_target> targets = level_targets(source);
  return std::all_of(targets.begin(), targets.end(), [&](const level_target& target) {
    return shape_of_level(target.modulus_bits, source).has_value();
  });
}

/// "set base_bits to 60" with the nearest base that works, or a hint on the other sizes.
std::string suggest(const literal& source) {
  for (unsigned step = 1; step <= 60; ++step) {
    for (const double base : {source.base_bits + step, source.base_bits - step}) {
      if (base >= source.scale_bits && all_levels_fit(source, base)) return text("set base_bits to ", base);
    }
  }
  return "choose scale_bits, and the bits of bootstrapping levels, as whole combinations of main_bits and "
         "terminal_bits, such as 40 for 30 and 20";
}

/// Indices in `a` that are not in `b`, ascending.
std::vector<std::uint32_t> difference(arith::window a, arith::window b) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = a.first; i < a.end(); ++i) {
    if (!b.contains(i)) result.push_back(i);
  }
  return result;
}

long double product(std::span<const std::uint64_t> primes, const std::vector<std::uint32_t>& indices) {
  return std::accumulate(indices.begin(), indices.end(), 1.0L, [&](long double value, std::uint32_t i) {
    return value * static_cast<long double>(primes[i]);
  });
}

}  // namespace

std::string_view level_use_name(level_use use) noexcept {
  if (use == level_use::eval_mod) return "eval_mod";
  return use == level_use::coeff_to_slot ? "coeff_to_slot" : "message";
}

std::vector<level_target> level_targets(const literal& source) {
  std::vector<level_target> targets{{level_use::message, source.scale_bits, source.base_bits}};
  double below = source.base_bits;  // of the group that is being added
  const auto add = [&](level_use use, double bits, unsigned levels) {
    for (unsigned i = 1; i <= levels; ++i) targets.push_back({use, bits, below + i * bits});
    below = targets.back().modulus_bits;
  };
  add(level_use::message, source.scale_bits, source.depth);
  if (!source.bootstrapping) return targets;
  const bootstrap_literal& extra = *source.bootstrapping;
  add(level_use::eval_mod, extra.eval_mod.bits, extra.eval_mod.levels);
  add(level_use::coeff_to_slot, extra.coeff_to_slot.bits, extra.coeff_to_slot.levels);
  return targets;
}

std::optional<level_shape> shape_of_level(double bits, const literal& source) {
  for (unsigned t = 0; t <= max_terminals; ++t) {
    const double mains = (bits - t * source.terminal_bits) / source.main_bits;
    const double whole = std::round(mains);
    if (whole >= 0 && std::abs(mains - whole) < count_tolerance && (t > 0 || whole > 0)) {
      return level_shape{t, static_cast<unsigned>(whole)};
    }
  }
  return std::nullopt;
}

std::vector<level_shape> plan_levels(const literal& source) {
  std::vector<level_shape> shapes;
  const std::vector<level_target> targets = level_targets(source);
  for (unsigned l = 0; l < targets.size(); ++l) {
    if (source.word_bits == 64) {
      shapes.push_back({0, l + 1});
      continue;
    }
    const double bits = targets[l].modulus_bits;
    const auto shape = shape_of_level(bits, source);
    HALOCLINE_EXPECTS(shape.has_value(), invalid_argument, "level ", l, " needs a modulus of ", bits,
                      " bits, which is no sum of primes of ", source.main_bits, " and at most ",
                      max_terminals, " of ", source.terminal_bits, " bits; expected every level to be one; ",
                      suggest(source));
    shapes.push_back(*shape);
  }
  return shapes;
}

std::vector<level_info> make_level_table(std::span<const std::uint64_t> primes, unsigned special,
                                         unsigned terminal_count, std::span<const level_shape> shapes,
                                         std::span<const level_target> targets) {
  HALOCLINE_EXPECTS(shapes.size() == targets.size() && !shapes.empty(), invalid_argument, "a level table of ",
                    shapes.size(), " shapes and ", targets.size(), " targets; expected as many of both");
  std::vector<level_info> table;
  long double scale = std::exp2(static_cast<long double>(targets[0].scale_bits));
  for (std::size_t l = 0; l < shapes.size(); ++l) {
    const level_shape& shape = shapes[l];
    HALOCLINE_EXPECTS(
        shape.terminals <= terminal_count && special + terminal_count + shape.mains <= primes.size(),
        invalid_argument, "a level has ", shape.terminals, " terminal and ", shape.mains,
        " main primes; expected at most ", terminal_count, " and ",
        primes.size() - std::min<std::size_t>(primes.size(), special + terminal_count));
    level_info row;
    row.use = targets[l].use;
    row.q = {special + terminal_count - shape.terminals, shape.terminals + shape.mains};
    row.terminals = shape.terminals;
    row.mains = shape.mains;
    long double log2_modulus = 0;
    for (std::uint32_t i = row.q.first; i < row.q.end(); ++i) {
      log2_modulus += std::log2(static_cast<long double>(primes[i]));
    }
    row.log2_modulus = static_cast<double>(log2_modulus);
    if (!table.empty()) {
      row.dropped = difference(row.q, table.back().q);
      row.added = difference(table.back().q, row.q);
      if (row.use != table.back().use) {
        scale = std::exp2(static_cast<long double>(targets[l].scale_bits));
        table.back().arrival_scale = static_cast<double>(scale);
      }
      scale = std::sqrt(scale * product(primes, row.dropped) / product(primes, row.added));
    }
    row.scale = static_cast<double>(scale);
    row.arrival_scale = row.scale;
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace halocline::params
