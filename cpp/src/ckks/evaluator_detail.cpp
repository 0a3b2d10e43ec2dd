// SPDX-License-Identifier: Apache-2.0
#include "ckks/evaluator_detail.hpp"

#include <algorithm>
#include <cmath>

#include "halocline/core/expects.hpp"
#include "halocline/ring/arith.hpp"
#include "halocline/rns/mod_down.hpp"

namespace halocline::ckks::detail {
namespace {

/// Scaled constants are rounded as long doubles.
constexpr double constant_bits = 120.0;

}  // namespace

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

double snap_scale(const params::parameters& parameters, unsigned level, double scale) {
  const double canonical = parameters.level(level).scale;
  return same_scale(canonical, scale, scale_tolerance) ? canonical : scale;
}

double matching_plain_scale(const params::parameters& parameters, unsigned level, double scale) {
  return static_cast<double>(parameters.level(level - 1).scale * rescale_ratio(parameters, level) / scale);
}

void require_level(const ciphertext& a, const char* operation) {
  HALOCLINE_EXPECTS(
      a.level > 0, level_exhausted, operation,
      ": the ciphertext is at level 0 and has no multiplication left; choose parameters with more "
      "levels or multiply less deeply");
}

void require_room(const params::parameters& parameters, const ciphertext& a, std::complex<double> constant,
                  double scale, const char* operation) {
  const double largest = std::max(std::abs(constant.real()), std::abs(constant.imag()));
  const double bits = std::min(constant_bits, parameters.level(a.level).log2_modulus - 1.0);
  const double limit = std::exp2(bits) / scale;
  HALOCLINE_EXPECTS(largest < limit, invalid_argument, operation, ": ", largest,
                    " is too large for a ciphertext of level ", a.level, " at scale 2^", std::log2(scale),
                    "; expected less than ", limit, ". Use a smaller number, or a higher level");
}

ciphertext make_like(context& ctx, const ciphertext& like, std::size_t parts) {
  ciphertext result;
  result.level = like.level;
  result.scale = like.scale;
  result.slots = like.slots;
  result.key = like.key;
  for (std::size_t i = 0; i < parts; ++i) {
    result.parts.push_back(ring::make_poly(ctx.ring(), ctx.parameters().level(like.level).q,
                                           memory::object_class::ciphertext, ciphertext_tag));
  }
  return result;
}

namespace {

/// Residue of the integer nearest to x. A long double holds 64 significant bits, so larger integers are m
/// 2^e.
std::uint64_t rounded_residue(long double x, const ring::modulus<std::uint64_t>& q) {
  int exponent = 0;
  long double magnitude = std::round(std::abs(x));
  if (magnitude >= 0x1p63L) {
    magnitude = std::ldexp(std::frexp(magnitude, &exponent), 64);
    exponent -= 64;
  }
  const auto mantissa = static_cast<std::uint64_t>(magnitude);
  std::uint64_t residue = mantissa % q.value;
  if (exponent > 0) {
    residue = ring::mul_mod(residue, ring::pow_mod<std::uint64_t>(2, static_cast<unsigned>(exponent), q), q);
  }
  return x < 0 ? ring::negate_mod(residue, q) : residue;
}

}  // namespace

std::vector<backend::scalar_pair> constant_residues(context& ctx, backend::window primes,
                                                    std::complex<long double> value) {
  const bool usable =
      std::isfinite(value.real()) && std::isfinite(value.imag()) && std::abs(value) < 0x1p120L;
  HALOCLINE_EXPECTS(usable, invalid_argument, "constant: scaled value ", static_cast<double>(value.real()),
                    " + ", static_cast<double>(value.imag()),
                    "i is not finite or exceeds 2^120; scale it down");
  std::vector<backend::scalar_pair> result;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
    const auto q = ring::make_modulus(ctx.tables().primes[i]);
    const std::uint64_t real = rounded_residue(value.real(), q);
    const std::uint64_t imaginary =
        ring::mul_mod(rounded_residue(value.imag(), q), ctx.ring().imaginary_units()[i], q);
    result.push_back({ring::add_mod(real, imaginary, q), ring::sub_mod(real, imaginary, q)});
  }
  return result;
}

std::vector<ring::poly> finish_switch(context& ctx, const poly_pair& extended, unsigned level,
                                      unsigned target) {
  const params::parameters& parameters = ctx.parameters();
  const rns::division step{
      parameters.special_window(), parameters.level(level).q, parameters.level(target).q, {}};
  const std::vector<const ring::poly*> sources{&extended.first, &extended.second};
  return rns::divide(ctx.ring(), ctx.converter(), step, sources, memory::object_class::ciphertext,
                     ciphertext_tag);
}

}  // namespace halocline::ckks::detail
