// SPDX-License-Identifier: Apache-2.0
// Which limbs the digits of a key have.
#include <algorithm>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using arith::window;

std::vector<key_digit_layout> encapsulation_layout(const params::parameters& parameters, unsigned level) {
  HALOCLINE_EXPECTS(parameters.encapsulation().has_value(), invalid_argument,
                    "encapsulation key: parameters \"", parameters.name(),
                    "\" have no ephemeral secret; expected a set with bootstrapping levels and "
                    "an ephemeral_weight, such as the preset n16-boot");
  const params::encapsulation_info& e = *parameters.encapsulation();
  const window base = parameters.level(0).q;
  std::vector<key_digit_layout> result;
  for (std::uint32_t i = base.first; i < base.end(); ++i) result.push_back({e.to_sparse, base, {i, 1}});
  const unsigned special = parameters.special_count();
  const window chain{special, parameters.key_limbs(level) - special};
  result.push_back({e.to_dense, chain, chain});
  return result;
}

std::vector<key_digit_layout> raised_layout(const params::parameters& parameters, unsigned level) {
  parameters.require_raised_keys("raised rotation key");
  const params::encapsulation_info& e = *parameters.encapsulation();
  const window chain{e.raised_scale.first, parameters.key_limbs(level) - e.raised_scale.first};
  return {{e.raised_special, chain, chain}};
}

}  // namespace

std::uint64_t raised_rotation_element(const params::parameters& parameters,
                                      std::uint64_t galois_element) noexcept {
  return galois_element == 1 ? largest_key_element(parameters) : 2 * galois_element;
}

std::optional<std::uint64_t> raised_rotation_of(const params::parameters& parameters,
                                                std::uint64_t element) noexcept {
  const std::uint64_t largest = largest_key_element(parameters);
  if (element == largest) return 1;
  if (element % 4 != 2 || element == encapsulation_element || element > largest) return {};
  return element / 2;
}

std::uint64_t largest_key_element(const params::parameters& parameters) noexcept {
  return 4 * parameters.n() + 2;
}

std::vector<backend::limb_view> key_digit_layout::views(const memory::buffer& half) const {
  if (special.end() == chain.first) return {{&half, 0, {special.first, limbs()}}};
  return {{&half, 0, special}, {&half, special.count, chain}};
}

std::vector<key_digit_layout> key_layout(const params::parameters& parameters, const key_request& request) {
  const unsigned limbs = parameters.key_limbs(request.level);
  if (request.galois_element == encapsulation_element) return encapsulation_layout(parameters, request.level);
  if (raised_rotation_of(parameters, request.galois_element)) return raised_layout(parameters, request.level);
  const window special = parameters.special_window();
  const window chain{special.count, limbs - special.count};
  std::vector<key_digit_layout> result;
  for (unsigned j = 0; j < evaluation_key::digit_count(parameters, request.level); ++j) {
    window digit = parameters.digit(j);
    digit.count = std::min(digit.count, limbs - digit.first);
    result.push_back({special, chain, digit});
  }
  return result;
}

unsigned evaluation_key::limb_count(const params::parameters& parameters, unsigned level) {
  return parameters.key_limbs(level);
}

unsigned evaluation_key::digit_count(const params::parameters& parameters, unsigned level) {
  const unsigned limbs = parameters.key_limbs(level);
  unsigned count = 0;
  while (count < parameters.digit_count() && parameters.digit(count).first < limbs) ++count;
  return count;
}

}  // namespace halocline::ckks
