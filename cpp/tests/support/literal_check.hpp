// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

#include "halocline/core/error.hpp"
#include "halocline/core/json.hpp"
#include "halocline/params/parameters.hpp"

namespace halocline::test {

/// What must hold for any bytes given as a parameter literal; aborts when it does not. Shared by the fuzz
/// target and the test that replays its corpus.
/// @return whether the literal was accepted as parameters
inline bool check_literal_bytes(std::string_view bytes) {
  try {
    const json::value parsed = json::parse(bytes);
    if (json::parse(json::write(parsed)) != parsed) std::abort();
  } catch (const corrupt_data&) {
  }
  try {
    const params::literal source = params::literal::from_json(bytes);
    if (params::literal::from_json(source.to_json()) != source) std::abort();
    const auto accepted = params::parameters::from_literal(source);
    if (params::parameters::from_json(accepted.to_json(0)) != accepted) std::abort();
    if (!source.allow_insecure && accepted.security_bits() < params::required_security) std::abort();
    return true;
  } catch (const error&) {
    return false;
  }
}

}  // namespace halocline::test
