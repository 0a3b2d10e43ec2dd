// SPDX-License-Identifier: Apache-2.0
#include "circuits/giant_rounds.hpp"

#include <algorithm>
#include <cstddef>

#include "halocline/rns/mod_up.hpp"

namespace halocline::circuits::detail {

std::vector<giant_round> giant_rounds(const transform_plan& plan, std::span<const int> giants,
                                      std::size_t at_once) {
  const std::vector<int> order = transform_plan::walk(giants);
  std::vector<giant_turn> sides[2];
  for (std::size_t i = 0; i < order.size() && order[i] != 0; ++i) {
    sides[order[i] < 0 ? 1 : 0].push_back({order[i], plan.next(order, i)});
  }
  std::vector<giant_round> all;
  if (plan.is_direct()) {
    for (const std::vector<giant_turn>& side : sides) {
      for (const giant_turn& each : side) {
        if (all.empty() || all.back().size() >= at_once) all.emplace_back();
        all.back().push_back(each);
      }
    }
  } else if (at_once > 1) {
    all.resize(std::max(sides[0].size(), sides[1].size()));
    for (const std::vector<giant_turn>& side : sides) {
      const std::size_t first = all.size() - side.size();
      for (std::size_t i = 0; i < side.size(); ++i) all[first + i].push_back(side[i]);
    }
  } else {
    for (const std::vector<giant_turn>& side : sides) {
      for (const giant_turn& each : side) all.push_back({each});
    }
  }
  if (std::binary_search(giants.begin(), giants.end(), 0)) all.push_back({{0, 0}});
  return all;
}

std::vector<int> order_of(std::span<const giant_round> all) {
  std::vector<int> order;
  for (const giant_round& each : all) {
    for (const giant_turn& turn : each) order.push_back(turn.giant);
  }
  return order;
}

std::size_t giants_at_once(ckks::context& ctx, const transform_plan& plan) {
  constexpr std::size_t both_sides = std::size_t{16} << 20, most_bytes = std::size_t{128} << 20;
  if (plan.mode() != transform_mode::double_hoisted && plan.mode() != transform_mode::bsgs) return 1;
  if (ctx.cache_bytes() == 0 || ctx.joining_budget() != 0) return 1;
  const params::parameters& parameters = ctx.parameters();
  const arith::window chain = parameters.level(plan.level()).q;
  const std::size_t limbs = std::size_t{chain.count} + parameters.special_count();
  const std::size_t raised = rns::digits_of(ctx.ring(), chain).size() * limbs * ctx.tables().limb_bytes();
  if (!plan.is_direct()) return raised <= both_sides ? 2 : 1;
  return std::max<std::size_t>(1, most_bytes / raised);
}

std::size_t giants_per_batch(const ckks::context& ctx, const transform_grid& grid,
                             const transform_usage& usage, std::size_t output) {
  constexpr std::size_t most = 4, most_bytes = std::size_t{512} << 20;
  if (ctx.cache_bytes() == 0) return 1;
  std::size_t babies = 0, diagonals = 0;
  for (std::size_t i = 0; i < grid.inputs(); ++i) {
    const std::span<const transform_weight> cell = grid.cell(output, i);
    if (cell.empty()) continue;
    babies += usage.babies[i].size();
    for (const transform_weight& each : cell) {
      if (!each.expanded) return 1;  // they are expanded in each step
      diagonals = std::max(diagonals, each.expanded.data().size());
    }
  }
  const params::parameters& parameters = ctx.parameters();
  const std::size_t limbs =
      parameters.level(grid.plan().level()).q.count +
      (grid.plan().mode() == transform_mode::double_hoisted ? parameters.special_count() : 0);
  const std::size_t pair = 2 * limbs * ctx.tables().limb_bytes();
  const std::size_t giant = pair + babies * diagonals;
  const std::size_t fitting = most_bytes > babies * pair ? (most_bytes - babies * pair) / giant : 0;
  return std::clamp<std::size_t>(fitting, 1, most);
}

}  // namespace halocline::circuits::detail
