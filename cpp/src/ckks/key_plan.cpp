// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_plan.hpp"

#include <algorithm>
#include <utility>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {

recording_key_set::recording_key_set(context& ghost) : ghost_(ghost) {
  HALOCLINE_EXPECTS(ghost.runtime().is_ghost(), invalid_argument,
                    "recording_key_set: the context is on backend '", ghost.device().name(),
                    "'; keys without contents are usable on the ghost backend only");
}

const evaluation_key& recording_key_set::get(std::uint64_t galois_element, unsigned at) {
  const params::parameters& parameters = ghost_.parameters();
  const unsigned level = parameters.key_level(at);
  ++uses_[galois_element];
  const auto [place, is_new] = levels_.try_emplace(galois_element, level);
  if (is_new) order_.push_back(galois_element);
  unsigned& highest = place->second;
  highest = std::max(highest, level);
  const evaluation_key& key = keys_[galois_element];
  // For the highest level of the parameters, so that the key stays the same object when a higher request
  // follows.
  if (key.digits.empty() || key.level < level) prepare({galois_element, parameters.top_level()});
  return key;
}

void recording_key_set::prepare(const key_request& request, bool seeded) {
  const params::parameters& parameters = ghost_.parameters();
  HALOCLINE_EXPECTS(request.level <= parameters.top_level(), invalid_argument, "key for level ",
                    request.level, "; the highest level is ", parameters.top_level());
  const std::vector<key_digit_layout> layouts = key_layout(parameters, request);
  evaluation_key& key = keys_[request.galois_element];
  key.home = ghost_.ring().home();
  key.galois_element = request.galois_element;
  key.level = request.level;
  key.digits.clear();
  for (std::uint32_t j = 0; j < layouts.size(); ++j) {
    const std::size_t bytes = layouts[j].limbs() * parameters.limb_bytes();
    evaluation_key_digit digit;
    digit.b = ghost_.runtime().allocate(bytes, memory::object_class::evaluation_key, "evaluation_key.b");
    if (!seeded) {
      digit.a = ghost_.runtime().allocate(bytes, memory::object_class::evaluation_key, "evaluation_key.a");
    }
    digit.source.stream = j;
    key.digits.push_back(std::move(digit));
  }
  register_key(ghost_, key);
}

void recording_key_set::keep_seeded(std::uint64_t galois_element) {
  const auto found = keys_.find(galois_element);
  if (found == keys_.end() || found->second.digits.empty() || !found->second.digits.front().a) return;
  prepare({galois_element, found->second.level}, true);
}

std::vector<key_request> recording_key_set::requests() const {
  std::vector<key_request> result;
  for (const auto& [element, level] : levels_) result.push_back({element, level});
  return result;
}

std::vector<key_request> recording_key_set::in_order() const {
  std::vector<key_request> result;
  for (const std::uint64_t element : order_) result.push_back({element, levels_.at(element)});
  return result;
}

}  // namespace halocline::ckks
