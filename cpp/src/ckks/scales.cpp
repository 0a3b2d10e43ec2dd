// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/scales.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::ckks {

bool same_scale(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(a, b);
}

long double rescale_ratio(const params::parameters& parameters, unsigned level) {
  const params::level_info& info = parameters.level(level);
  long double ratio = 1.0L;
  for (const std::uint32_t i : info.dropped) ratio *= static_cast<long double>(parameters.primes()[i]);
  for (const std::uint32_t i : info.added) ratio /= static_cast<long double>(parameters.primes()[i]);
  return ratio;
}

bool has_primes_of(const params::parameters& parameters, unsigned from, unsigned to) {
  if (to > from) return false;
  const arith::window has = parameters.level(from).q;
  const arith::window wanted = parameters.level(to).q;
  return wanted.first >= has.first && wanted.end() <= has.end();
}

double snap_scale(const params::parameters& parameters, unsigned level, double scale) {
  const double canonical = parameters.level(level).scale;
  return same_scale(canonical, scale, scale_tolerance) ? canonical : scale;
}

double rescaled_scale(const params::parameters& parameters, unsigned level, double scale) {
  return snap_scale(parameters, level - 1, static_cast<double>(scale / rescale_ratio(parameters, level)));
}

double matching_plain_scale(const params::parameters& parameters, unsigned level, double scale) {
  return static_cast<double>(parameters.level(level - 1).scale * rescale_ratio(parameters, level) / scale);
}

}  // namespace halocline::ckks
