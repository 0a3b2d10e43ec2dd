// SPDX-License-Identifier: Apache-2.0
#include "circuits/giant_rounds.hpp"

#include <algorithm>
#include <cstddef>

#include "halocline/rns/mod_up.hpp"

namespace halocline::circuits::detail {

std::vector<giant_round> giant_rounds(const transform_plan& plan, std::span<const int> giants, bool joined) {
  const std::vector<int> order = transform_plan::walk(giants);
  std::vector<giant_turn> sides[2];
  for (std::size_t i = 0; i < order.size() && order[i] != 0; ++i) {
    sides[order[i] < 0 ? 1 : 0].push_back({order[i], plan.next(order, i)});
  }
  std::vector<giant_round> all;
  if (joined) {
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

bool joins_sides(ckks::context& ctx, const transform_plan& plan) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  if (plan.mode() != transform_mode::double_hoisted) return false;
  if (ctx.cache_bytes() == 0 || ctx.joining_budget() != 0) return false;
  const params::parameters& parameters = ctx.parameters();
  const arith::window chain = parameters.level(plan.level()).q;
  const std::size_t limbs = std::size_t{chain.count} + parameters.special_count();
  return rns::digits_of(ctx.ring(), chain).size() * limbs * ctx.tables().limb_bytes() <= most_bytes;
}

}  // namespace halocline::circuits::detail
