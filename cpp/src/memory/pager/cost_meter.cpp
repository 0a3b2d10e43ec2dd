// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/cost_meter.hpp"

#include <algorithm>

namespace halocline::memory {
namespace {

/// Below this sum of transfers latency dominates the measurement.
constexpr double enough_bytes = 64.0 * (1 << 20);

}  // namespace

std::size_t cost_meter::number_of(std::string_view op) {
  if (const auto found = numbers_.find(op); found != numbers_.end()) return found->second;
  operations_.emplace_back();
  return numbers_.emplace(std::string(op), operations_.size() - 1).first->second;
}

void cost_meter::add(std::size_t op, double bytes, double ns) {
  sums& of = operations_[op];
  of.count += 1;
  of.bytes += bytes;
  of.square += bytes * bytes;
  of.ns += ns;
  of.product += bytes * ns;
}

plan::linear_cost cost_meter::fit(const sums& of) {
  const double spread = of.count * of.square - of.bytes * of.bytes;
  // One size only, or noise that would give a negative slope or offset: proportional to the bytes.
  const plan::linear_cost proportional{0, of.bytes > 0 ? of.ns / of.bytes : 0};
  if (spread <= 1e-9 * of.count * of.square) return proportional;
  const double slope = (of.count * of.product - of.bytes * of.ns) / spread;
  const double offset = (of.ns - slope * of.bytes) / of.count;
  return slope > 0 && offset >= 0 ? plan::linear_cost{offset, slope} : proportional;
}

plan::cost_model cost_meter::costs(const plan::cost_model& base) const {
  plan::cost_model result = base;
  double bytes = 0, ns = 0;
  for (const auto& [name, number] : numbers_) {
    const sums& of = operations_[number];
    if (of.count == 0) continue;
    result.operations[name] = fit(of);
    if (name == plan::expanding_operation) continue;  // not like the others: it reads nothing
    bytes += of.bytes;
    ns += of.ns;
  }
  // Operations that were not measured are assumed to be as fast as those that were.
  if (bytes > 0) result.other_operation = {0, ns / bytes};
  return result;
}

void refine_links(plan::cost_model& base, const store_stats& moved, double lateness) {
  if (static_cast<double>(moved.read_bytes) >= enough_bytes) {
    base.load.ns_per_byte =
        lateness * static_cast<double>(moved.read_busy_ns) / static_cast<double>(moved.read_bytes);
    base.load.fixed_ns = 0;
  }
  if (static_cast<double>(moved.written_bytes) >= enough_bytes) {
    base.store.ns_per_byte =
        static_cast<double>(moved.written_busy_ns) / static_cast<double>(moved.written_bytes);
    base.store.fixed_ns = 0;
  }
}

}  // namespace halocline::memory
