// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/forms.hpp"

#include <cstdlib>

#include "halocline/core/expects.hpp"

namespace halocline::seal {
namespace {

polynomials transformed(context& of, const polynomials& a, bool forward) {
  HALOCLINE_EXPECTS(a.is_of(of), invalid_argument,
                    "transform: polynomials of another engine; load them here");
  polynomials made(of, a.size(), a.primes(), memory::object_class::ciphertext, "ciphertext");
  std::vector<backend::unary_job> jobs;
  for (std::uint32_t i = 0; i < a.size(); ++i) jobs.push_back({made.part(i), a.part(i)});
  forward ? of.device().ntt(of.tables(), jobs) : of.device().intt(of.tables(), jobs);
  return made;
}

}  // namespace

polynomials to_coefficients(context& of, const polynomials& a) { return transformed(of, a, false); }
polynomials to_points(context& of, const polynomials& a) { return transformed(of, a, true); }

std::vector<std::int64_t> rotation_digits(std::int64_t steps) {
  const std::int64_t sign = steps < 0 ? -1 : 1;
  std::vector<std::int64_t> digits;
  std::int64_t power = sign;
  for (std::int64_t rest = std::abs(steps); rest != 0; rest /= 2, power *= 2) {
    if (rest % 2 == 0) continue;
    const std::int64_t digit = 2 - rest % 4;
    rest -= digit;
    digits.push_back(digit * power);
  }
  return digits;
}

}  // namespace halocline::seal
