// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "halocline/core/json.hpp"
#include "halocline/memory/plan/plan.hpp"

namespace halocline::memory::plan {
namespace {

/// Beyond 2^53, where JSON's numbers end, a size is rounded.
json::value size(std::uint64_t bytes) { return static_cast<double>(bytes); }

json::object summary(const forecast& from) {
  json::object list{{"footprint_bytes", size(from.footprint_bytes)},
                    {"minimum_bytes", size(from.minimum_bytes)},
                    {"peak_bytes", size(from.peak_bytes)},
                    {"loaded_bytes", size(from.loaded_bytes)},
                    {"written_bytes", size(from.written_bytes)},
                    {"expanded_bytes", size(from.expanded_bytes)},
                    {"encoded_bytes", size(from.encoded_bytes)},
                    {"lower_bound_bytes", size(from.lower_bound_bytes)},
                    {"resident_ns", from.resident_ns},
                    {"total_ns", from.total_ns},
                    {"stall_ns", from.stall_ns},
                    {"load_busy_ns", from.load_busy_ns},
                    {"store_busy_ns", from.store_busy_ns}};
  if (std::isfinite(from.gap())) list.emplace_back("gap", from.gap());
  if (from.links.empty()) return list;
  json::array links;
  for (const link_forecast& each : from.links) {
    links.emplace_back(json::object{{"name", each.name},
                                    {"loads", size(each.loads)},
                                    {"loaded_bytes", size(each.loaded_bytes)},
                                    {"least_bytes", size(each.least_bytes)},
                                    {"busy_ns", each.busy_ns},
                                    {"ns_per_byte", each.ns_per_byte}});
  }
  std::string by;
  list.emplace_back("bound_ns", from.bound_ns(&by));
  list.emplace_back("bound_by", by);
  list.emplace_back("links", std::move(links));
  return list;
}

}  // namespace

std::string to_json(const plan& source) {
  constexpr std::array names{"load", "expand", "encode", "drop", "write_back", "shrink"};
  std::array<std::uint64_t, names.size()> counts{};
  for (const directive& each : source.directives) ++counts[static_cast<std::size_t>(each.action)];
  json::object directives;
  for (std::size_t i = 0; i < names.size(); ++i) directives.emplace_back(names[i], counts[i]);
  return json::write(json::object{{"capacity_bytes", size(source.capacity_bytes)},
                                  {"parameters", source.parameters},
                                  {"steps", std::uint64_t{source.steps()}},
                                  {"objects", std::uint64_t{source.objects.size()}},
                                  {"directives", std::move(directives)},
                                  {"compositions", std::uint64_t{source.compositions.size()}},
                                  {"expected", summary(source.expected)}},
                     2);
}

}  // namespace halocline::memory::plan
