// SPDX-License-Identifier: Apache-2.0
#include "halocline/rns/mod_up.hpp"

#include <algorithm>

#include "halocline/core/expects.hpp"

namespace halocline::rns {
namespace {

using arith::window;
using backend::limb_view;

/// The non-empty ones of the given windows.
std::vector<window> non_empty(std::initializer_list<window> windows) {
  std::vector<window> result;
  for (const window& each : windows) {
    if (each.count != 0) result.push_back(each);
  }
  return result;
}

window intersect(window a, window b) {
  const std::uint32_t first = std::max(a.first, b.first);
  const std::uint32_t end = std::min(a.end(), b.end());
  return {first, end > first ? end - first : 0};
}

/// Digits that have primes in `chain`, with room for their limbs.
raised_digits allocate_digits(ring::context& ring, const limb_view& source) {
  const window special = ring.shape().special;
  raised_digits result;
  result.chain = source.primes;
  result.source = source;
  for (const digit_run& each : digits_of(ring, source.primes)) {
    result.numbers.push_back(each.number);
    result.runs.push_back(each.primes);
    result.digits.emplace_back(ring, special, source.primes, memory::object_class::scratch, "mod_up.digit");
  }
  return result;
}

}  // namespace

std::vector<digit_run> digits_of(const ring::context& ring, window chain) {
  const std::vector<window>& digits = ring.shape().digits;
  std::vector<digit_run> result;
  for (std::uint32_t j = 0; j < digits.size(); ++j) {
    const window own = intersect(digits[j], chain);
    if (own.count != 0) result.push_back({j, own});
  }
  return result;
}

ring::poly to_coefficients(ring::context& ring, const limb_view& source) {
  ring::poly result =
      ring::make_poly(ring, source.primes, memory::object_class::scratch, "mod_up.coefficients");
  const backend::unary_job inverse{result.chain(), source};
  ring.device().intt(ring.tables(), {&inverse, 1});
  return result;
}

raised_digits mod_up(ring::context& ring, base_converter& converter, const limb_view& source) {
  const window chain = source.primes;
  const window special = ring.shape().special;
  backend::backend& device = ring.device();
  const ring::poly coefficients = to_coefficients(ring, source);
  raised_digits result = allocate_digits(ring, source);
  std::vector<backend::convert_job> conversions;
  std::vector<backend::unary_job> transforms;
  for (std::size_t i = 0; i < result.digits.size(); ++i) {
    const ring::poly& digit = result.digits[i];
    const window own = result.runs[i];
    const std::vector<window> others =
        non_empty({{chain.first, own.first - chain.first}, {own.end(), chain.end() - own.end()}});
    backend::convert_job conversion{{coefficients.chain().slice(own)}, {digit.special()}, nullptr};
    for (const window& part : others) conversion.dst.push_back(digit.chain().slice(part));
    std::vector<window> targets{special};
    targets.insert(targets.end(), others.begin(), others.end());
    conversion.table = &converter.table({own}, targets);
    for (const limb_view& raised : conversion.dst) transforms.push_back({raised, raised});
    conversions.push_back(std::move(conversion));
  }
  device.base_convert(ring.tables(), conversions);
  device.ntt(ring.tables(), transforms);
  return result;
}

}  // namespace halocline::rns
