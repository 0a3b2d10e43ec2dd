// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/arith/window.hpp"
#include "halocline/params/parameters.hpp"

namespace halocline::ring {

/// What a ring is made of, whatever scheme uses it.
struct shape {
  unsigned log_n = 0;                 ///< ring degree N = 2^log_n
  unsigned word_bits = 32;            ///< 32 or 64
  std::vector<std::uint64_t> primes;  ///< all primes, q_i = 1 mod 2N
  arith::window special;              ///< primes of key switches that ciphertexts do not have; may be empty
  std::vector<arith::window> digits;  ///< runs of the other primes: the digits of key switches, in order
};

/// The ring of a CKKS parameter set.
[[nodiscard]] shape shape_of(const params::parameters& parameters);

}  // namespace halocline::ring
