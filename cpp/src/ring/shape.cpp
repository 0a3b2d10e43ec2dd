// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/shape.hpp"

namespace halocline::ring {

shape shape_of(const params::parameters& parameters) {
  shape result;
  result.log_n = parameters.log_n();
  result.word_bits = parameters.word_bits();
  result.primes.assign(parameters.primes().begin(), parameters.primes().end());
  result.special = parameters.special_window();
  for (unsigned j = 0; j < parameters.digit_count(); ++j) result.digits.push_back(parameters.digit(j));
  return result;
}

}  // namespace halocline::ring
