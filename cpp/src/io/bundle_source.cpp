// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/bundle_source.hpp"

#include <algorithm>

#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::io {

bundle_source::bundle_source(const input& from, ckks::context& ctx,
                             const std::optional<std::vector<ckks::key_request>>& wanted)
    : reader_(from, ctx) {
  std::map<std::uint64_t, unsigned> limits;
  if (wanted) {
    for (const ckks::key_request& each : *wanted) limits[each.galois_element] = each.level;
  }
  for (const ckks::key_request& each : reader_.list()) {
    const auto limit = limits.find(each.galois_element);
    if (wanted && limit == limits.end()) continue;
    levels_[each.galois_element] = wanted ? std::min(each.level, limit->second) : each.level;
  }
}

std::vector<ckks::key_request> bundle_source::list() const {
  std::vector<ckks::key_request> out;
  for (const auto& [element, level] : levels_) out.push_back({element, level});
  return out;
}

unsigned bundle_source::level_of(std::uint64_t galois_element) const {
  const auto found = levels_.find(galois_element);
  HALOCLINE_EXPECTS(found != levels_.end(), missing_key, "load: the key of Galois element ", galois_element,
                    " is not among those that are offered");
  return found->second;
}

ckks::evaluation_key bundle_source::load(std::uint64_t galois_element) {
  return reader_.load(galois_element, level_of(galois_element));
}

ckks::evaluation_key bundle_source::bind(std::uint64_t galois_element) {
  return reader_.bind(galois_element, level_of(galois_element));
}

}  // namespace halocline::io
