// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_set.hpp"

#include <utility>

#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

/// How to get a key that is missing.
constexpr const char* all_of_a_program =
    ". A ghost run of the program lists all keys that it needs; in Python client.keys_for(program, ...) "
    "makes them";

std::string advice(const params::parameters& parameters, std::uint64_t galois_element) {
  if (galois_element == relinearization_element) return "generate it together with the other keys";
  if (galois_element == encapsulation_element) {
    return parameters.encapsulation() ? "generate it for the level that ModRaise goes to"
                                      : "these parameters have no ephemeral secret and need none";
  }
  if (raised_rotation_of(parameters, galois_element)) {
    return "generate the keys that the bootstrapper requests, all from one secret key";
  }
  if (galois_element == parameters.conjugation_element())
    return "ask for the conjugation key when generating keys";
  const auto steps = rotation_of(parameters, galois_element);
  if (steps) return text("add ", *steps, " to rotations");
  return text("generate a key for Galois element ", galois_element);
}

/// Checks that a key has the shape of its element and level.
void check_key(const params::parameters& parameters, const evaluation_key& key) {
  HALOCLINE_EXPECTS(is_key_element(parameters, key.galois_element), invalid_argument,
                    "key set: Galois element ", key.galois_element,
                    " must be odd and below 2N = ", 2 * parameters.n());
  HALOCLINE_EXPECTS(key.level <= parameters.top_level(), invalid_argument, "key set: a key for level ",
                    key.level, "; the highest level is ", parameters.top_level());
  const std::vector<key_digit_layout> layouts = key_layout(parameters, {key.galois_element, key.level});
  bool fits = key.digits.size() == layouts.size();
  for (std::size_t j = 0; fits && j < layouts.size(); ++j) {
    const std::size_t bytes = layouts[j].limbs() * parameters.limb_bytes();
    const evaluation_key_digit& digit = key.digits[j];
    fits = digit.b.size() == bytes && (!digit.a || digit.a.size() == bytes);
  }
  HALOCLINE_EXPECTS(fits, invalid_argument, "key set: the ", describe_key(parameters, key.galois_element),
                    " does not have ", layouts.size(), " digits, the first of ",
                    layouts.front().limbs() * parameters.limb_bytes(),
                    " bytes per half; it was made for other parameters");
}

}  // namespace

const evaluation_key& matching_key(key_set& keys, std::uint64_t galois_element, unsigned level, key_id& key,
                                   const char* operation) {
  const evaluation_key& found = keys.get(galois_element, level);
  key = common_key(key, found.id, operation, "the ciphertext", "the evaluation key");
  return found;
}

void memory_key_set::add(evaluation_key key) {
  check_key(parameters_, key);
  id_ = common_key(id_, key.id, "key set", "the set", "the key to be added");
  const std::uint64_t element = key.galois_element;
  keys_.insert_or_assign(element, std::move(key));
}

void memory_key_set::drop_uniform_halves(std::uint64_t galois_element) {
  const auto found = keys_.find(galois_element);
  if (found == keys_.end()) return;
  for (evaluation_key_digit& digit : found->second.digits) {
    if (digit.source.seed != arith::uniform_source{}.seed) digit.a = {};
  }
}

const evaluation_key& memory_key_set::get(std::uint64_t galois_element, unsigned level) {
  const auto found = keys_.find(galois_element);
  HALOCLINE_EXPECTS(found != keys_.end(), missing_key, describe_key(parameters_, galois_element),
                    " missing; ", advice(parameters_, galois_element), all_of_a_program);
  const unsigned needed = parameters_.key_level(level);
  HALOCLINE_EXPECTS(found->second.level >= needed, missing_key, describe_key(parameters_, galois_element),
                    " is for levels up to ", found->second.level, ", needed at level ", needed,
                    "; generate it for level ", needed, all_of_a_program);
  return found->second;
}

bool memory_key_set::contains(std::uint64_t galois_element, unsigned level) const {
  const auto found = keys_.find(galois_element);
  return found != keys_.end() && found->second.level >= parameters_.key_level(level);
}

std::vector<key_request> memory_key_set::list() const {
  std::vector<key_request> result;
  for (const auto& [element, key] : keys_) result.push_back({element, key.level});
  return result;
}

std::size_t memory_key_set::bytes() const noexcept {
  std::size_t total = 0;
  for (const auto& [element, key] : keys_) total += key.bytes();
  return total;
}

bool is_key_element(const params::parameters& parameters, std::uint64_t element) {
  if (element == encapsulation_element) return parameters.encapsulation().has_value();
  if (raised_rotation_of(parameters, element)) return parameters.has_raised_keys();
  return element % 2 == 1 && element < 2 * parameters.n();
}

std::optional<std::int64_t> rotation_of(const params::parameters& parameters, std::uint64_t galois_element) {
  const std::uint64_t mask = 2 * parameters.n() - 1;
  const auto slots = static_cast<std::int64_t>(parameters.slots());
  std::uint64_t power = 1;
  for (std::int64_t k = 0; k < slots; ++k) {
    if (power == galois_element) return k <= slots / 2 ? k : k - slots;
    power = power * parameters.galois_generator() & mask;
  }
  return std::nullopt;
}

std::string describe_key(const params::parameters& parameters, std::uint64_t galois_element) {
  if (galois_element == relinearization_element) return "relinearization key";
  if (galois_element == encapsulation_element) return "encapsulation key";
  if (const auto raised = raised_rotation_of(parameters, galois_element)) {
    if (const auto steps = rotation_of(parameters, *raised)) {
      return text("raised rotation key for step ", *steps);
    }
    return text("raised key for Galois element ", *raised);
  }
  if (galois_element == parameters.conjugation_element()) return "conjugation key";
  if (const auto steps = rotation_of(parameters, galois_element)) {
    return text("rotation key for step ", *steps);
  }
  return text("Galois key for element ", galois_element);
}

}  // namespace halocline::ckks
