// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/bundle_source.hpp"

#include <algorithm>
#include <iterator>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"
#include "key_sections.hpp"
#include "object_parts.hpp"

namespace halocline::io {

bundle_source::bundle_source(const input& from, ckks::context& ctx,
                             const std::optional<std::vector<ckks::key_request>>& wanted, bool in_turn)
    : reader_(from, ctx), in_turn_(in_turn) {
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
  const unsigned level = level_of(galois_element);
  if (const auto next = levels_.upper_bound(galois_element); in_turn_ && next != levels_.end()) {
    reader_.announce(galois_element, level);
    reader_.announce(next->first, next->second);
  }
  return reader_.load(galois_element, level);
}

ckks::evaluation_key bundle_source::bind(std::uint64_t galois_element) {
  return reader_.bind(galois_element, level_of(galois_element));
}

std::vector<byte_range> key_ranges(const container_reader& bundle, const params::parameters& parameters,
                                   const ckks::key_request& request) {
  std::vector<byte_range> out;
  const std::uint64_t element = request.galois_element;
  const auto layouts = ckks::key_layout(parameters, request);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const std::uint64_t needed = layouts[i].limbs() * parameters.limb_bytes();
    for (const section_id& id : {detail::half_b(element, i), detail::half_a(element, i)}) {
      const section* const found = bundle.find(id);
      if (found != nullptr) out.push_back({found->offset, std::min(found->bytes, needed)});
    }
  }
  return out;
}

std::vector<byte_range> list_ranges(const container_reader& bundle) {
  std::vector<byte_range> out;
  for (const section_id& id : {detail::parameters_section, detail::metadata_section}) {
    const section& found = bundle.at(id);
    out.push_back({found.offset, found.bytes});
  }
  return out;
}

}  // namespace halocline::io
