// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/insecure.hpp"

#include <utility>

#include "halocline/core/error.hpp"

namespace halocline::params {

parameters accept_insecure(literal source) {
  try {
    return parameters::from_literal(source);
  } catch (const insecure_parameters&) {
    source.allow_insecure = true;
  }
  return parameters::from_literal(source);
}

}  // namespace halocline::params
