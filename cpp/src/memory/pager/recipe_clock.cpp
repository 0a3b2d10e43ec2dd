// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/recipe_clock.hpp"

namespace halocline::memory {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
/// Bytes after which a measurement is used. The first piece on an accelerator may stand for a kernel being
/// loaded, a millisecond: among 256 MiB it is a fraction of what loading the bytes would take.
constexpr std::uint64_t enough_on_host = 16 * mib;
constexpr std::uint64_t enough_on_device = 256 * mib;
/// One of so many recipes on an accelerator is timed.
constexpr std::size_t timed_recipes = 8;

}  // namespace

recipe_clock::recipe_clock(const std::shared_ptr<device_memory>& device) {
  if (!device) return;
  for (sums& each : sums_) each.lane.emplace(device, lane::compute, timed_recipes);
}

std::uint64_t recipe_clock::ns_of(recovery kind) {
  sums& of = sums_[index_of(kind)];
  return of.lane ? of.lane->total_ns() : of.host_ns;
}

void recipe_clock::refine(plan::cost_model& costs) {
  for (const recovery kind : {recovery::expand, recovery::encode}) {
    const sums& of = sums_[index_of(kind)];
    if (of.bytes <= (of.lane ? enough_on_device : enough_on_host)) continue;
    const std::uint64_t ns = ns_of(kind);
    if (ns == 0) continue;
    (kind == recovery::expand ? costs.expand : costs.encode) = {
        0, static_cast<double>(ns) / static_cast<double>(of.bytes)};
  }
}

}  // namespace halocline::memory
