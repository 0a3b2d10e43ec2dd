// SPDX-License-Identifier: Apache-2.0
#include "halocline/rns/mod_up.hpp"

#include <algorithm>
#include <utility>

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

std::vector<ring::poly> to_coefficients(ring::context& ring, std::span<const limb_view> sources,
                                        const char* tag) {
  std::vector<ring::poly> results;
  std::vector<backend::unary_job> jobs;
  results.reserve(sources.size());
  for (const limb_view& source : sources) {
    results.push_back(ring::make_poly(ring, source.primes, memory::object_class::scratch, tag));
    jobs.push_back({results.back().chain(), source});
  }
  ring.device().intt(ring.tables(), jobs);
  return results;
}

raised_digits mod_up(ring::context& ring, base_converter& converter, const limb_view& source) {
  return std::move(mod_up(ring, converter, std::span(&source, 1)).front());
}

std::vector<raised_digits> mod_up(ring::context& ring, base_converter& converter,
                                  std::span<const limb_view> sources, digit_form form) {
  HALOCLINE_EXPECTS(!sources.empty(), invalid_argument, "mod_up: no polynomials; expected at least one");
  const window chain = sources.front().primes;
  const window special = ring.shape().special;
  for (const limb_view& each : sources) {
    HALOCLINE_EXPECTS(each.primes == chain, invalid_argument, "mod_up: a polynomial over the primes [",
                      each.primes.first, ", ", each.primes.end(), "), the first over [", chain.first, ", ",
                      chain.end(), "); expected the same");
  }
  const std::vector<ring::poly> coefficients = to_coefficients(ring, sources);
  std::vector<raised_digits> results;
  for (const limb_view& each : sources) {
    results.push_back(allocate_digits(ring, each));
    results.back().form = form;
  }
  std::vector<backend::convert_job> conversions;
  std::vector<backend::unary_job> transforms;
  for (std::size_t i = 0; i < results.front().digits.size(); ++i) {
    const window own = results.front().runs[i];
    const std::vector<window> others =
        non_empty({{chain.first, own.first - chain.first}, {own.end(), chain.end() - own.end()}});
    std::vector<window> targets{special};
    targets.insert(targets.end(), others.begin(), others.end());
    const backend::conversion_table& table = converter.table({own}, targets);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const ring::poly& digit = results[k].digits[i];
      backend::convert_job conversion{{coefficients[k].chain().slice(own)}, {digit.special()}, &table};
      for (const window& part : others) conversion.dst.push_back(digit.chain().slice(part));
      for (const limb_view& raised : conversion.dst) transforms.push_back({raised, raised});
      conversions.push_back(std::move(conversion));
    }
  }
  ring.device().base_convert(ring.tables(), conversions);
  if (form == digit_form::points) ring.device().ntt(ring.tables(), transforms);
  return results;
}

}  // namespace halocline::rns
