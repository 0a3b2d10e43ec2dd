// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_routes.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "halocline/ckks/key_set.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

/// A key that parts of routes may use.
struct hot_key {
  std::uint64_t element = 0;
  unsigned level = 0;
};
/// Hot keys by rotation step, modulo the number of slots.
using hot_keys = std::map<std::uint64_t, hot_key>;

std::optional<std::uint64_t> step_of(const params::parameters& parameters, std::uint64_t element) {
  const std::optional<std::int64_t> step = rotation_of(parameters, element);
  if (!step) return std::nullopt;
  const auto slots = static_cast<std::int64_t>(parameters.slots());
  return static_cast<std::uint64_t>((*step + slots) % slots);
}

/// Two hot keys for `level` whose steps add up to `step`.
std::optional<std::vector<std::uint64_t>> split(const hot_keys& hot, std::uint64_t step, std::uint64_t slots,
                                                unsigned level) {
  for (const auto& [first, key] : hot) {
    const auto second = hot.find((step + slots - first) % slots);
    if (second == hot.end() || key.level < level || second->second.level < level) continue;
    return std::vector<std::uint64_t>{key.element, second->second.element};
  }
  return std::nullopt;
}

/// Which numbers below 2N are rotations by something; found once, because routes may be many.
std::vector<bool> rotations_of(const params::parameters& parameters) {
  const std::uint64_t order = 2 * static_cast<std::uint64_t>(parameters.n());
  std::vector<bool> result(order);
  std::uint64_t power = parameters.galois_generator();
  for (std::uint32_t step = 1; step < parameters.slots(); ++step) {
    result[power] = true;
    power = power * parameters.galois_generator() % order;
  }
  return result;
}

}  // namespace

key_routes suggest_routes(const params::parameters& parameters, const std::map<std::uint64_t, key_use>& uses,
                          const route_costs& costs, std::uint64_t hot_switches) {
  hot_keys hot;
  for (const auto& [element, use] : uses) {
    const auto step = step_of(parameters, element);
    if (step && use.switches >= hot_switches) hot.emplace(*step, hot_key{element, use.level});
  }
  key_routes routes;
  if (costs.switch_ns >= costs.load_ns) return routes;
  for (const auto& [element, use] : uses) {
    if (use.switches >= hot_switches || use.rotations != use.switches) continue;
    const auto step = step_of(parameters, element);
    if (!step) continue;
    if (auto parts = split(hot, *step, parameters.slots(), use.level))
      routes.emplace(element, std::move(*parts));
  }
  return routes;
}

void check_routes(const params::parameters& parameters, const key_routes& routes) {
  if (routes.empty()) return;
  const std::uint64_t order = 2 * static_cast<std::uint64_t>(parameters.n());
  const std::vector<bool> rotations = rotations_of(parameters);
  const auto expect_rotation = [&](std::uint64_t element, std::uint64_t of) {
    HALOCLINE_EXPECTS(element < order && rotations[element], invalid_argument, "routes: ", element,
                      " in the route of ", of, " is no rotation; expected a power of ",
                      parameters.galois_generator(), " modulo ", order, ", reduced and not 1");
  };
  for (const auto& [element, parts] : routes) {
    expect_rotation(element, element);
    HALOCLINE_EXPECTS(!parts.empty() && parts.size() <= max_route_parts, invalid_argument,
                      "routes: ", parts.size(), " parts of ", element, ", expected 1 to ", max_route_parts);
    std::uint64_t product = 1;
    for (const std::uint64_t part : parts) {
      expect_rotation(part, element);
      HALOCLINE_EXPECTS(!routes.contains(part), invalid_argument, "routes: the part ", part, " of ", element,
                        " is routed itself");
      product = product * part % order;
    }
    HALOCLINE_EXPECTS(product == element, invalid_argument, "routes: the parts of ", element, " multiply to ",
                      product, " modulo ", order);
  }
}

}  // namespace halocline::ckks
