// SPDX-License-Identifier: Apache-2.0
#include "ckks/evaluator_detail.hpp"

#include <cmath>

#include "halocline/arith/arith.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks::detail {
namespace {

/// Scaled constants are rounded as long doubles.
constexpr double constant_bits = 120.0;

void require_shape(const context& ctx, ciphertext_span many, const char* operation, bool one_scale) {
  HALOCLINE_EXPECTS(!many.empty(), invalid_argument, operation, ": no ciphertexts; expected at least one");
  const ciphertext& first = *many.front();
  for (std::size_t i = 0; i < many.size(); ++i) {
    const ciphertext& each = *many[i];
    check(ctx, each, operation);
    HALOCLINE_EXPECTS(each.level == first.level && (!one_scale || each.scale == first.scale) &&
                          each.slots == first.slots && each.parts.size() == first.parts.size(),
                      invalid_argument, operation, ": ciphertext ", i, " has level ", each.level,
                      ", scale 2^", std::log2(each.scale), ", ", each.slots, " slots and ", each.parts.size(),
                      " components; expected those of the first: level ", first.level, ", scale 2^",
                      std::log2(first.scale), ", ", first.slots, " slots and ", first.parts.size(),
                      " components");
  }
}

}  // namespace

void require_alike(const context& ctx, ciphertext_span many, const char* operation) {
  require_shape(ctx, many, operation, true);
}

void require_alike_but_scales(const context& ctx, ciphertext_span many, const char* operation) {
  require_shape(ctx, many, operation, false);
}

void require_pairs(const context& ctx, ciphertext_span a, ciphertext_span b, const char* operation) {
  require_alike(ctx, a, operation);
  HALOCLINE_EXPECTS(a.size() == b.size(), invalid_argument, operation, ": ", a.size(), " first operands and ",
                    b.size(), " second ones; expected the same number of both");
  require_alike(ctx, b, operation);
}

void require_level(const ciphertext& a, const char* operation) {
  HALOCLINE_EXPECTS(
      a.level > 0, level_exhausted, operation,
      ": the ciphertext is at level 0 and has no multiplication left; choose parameters with more "
      "levels or multiply less deeply");
}

void require_primes(const params::parameters& parameters, const ciphertext& a, unsigned level,
                    const char* operation) {
  HALOCLINE_EXPECTS(has_primes_of(parameters, a.level, level), invalid_argument, operation,
                    ": the ciphertext at level ", a.level, " does not have all primes of level ", level,
                    "; drop_level it");
}

void require_room(const params::parameters& parameters, unsigned level, std::complex<double> constant,
                  double scale, const char* operation) {
  const double largest = std::max(std::abs(constant.real()), std::abs(constant.imag()));
  const double bits = std::min(constant_bits, parameters.level(level).log2_modulus - 1.0);
  const double limit = std::exp2(bits) / scale;
  HALOCLINE_EXPECTS(largest < limit, invalid_argument, operation, ": ", largest,
                    " is too large for a ciphertext of level ", level, " at scale 2^", std::log2(scale),
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
std::uint64_t rounded_residue(long double x, const arith::modulus<std::uint64_t>& q) {
  int exponent = 0;
  long double magnitude = std::round(std::abs(x));
  if (magnitude >= 0x1p63L) {
    magnitude = std::ldexp(std::frexp(magnitude, &exponent), 64);
    exponent -= 64;
  }
  const auto mantissa = static_cast<std::uint64_t>(magnitude);
  std::uint64_t residue = mantissa % q.value;
  if (exponent > 0) {
    residue =
        arith::mul_mod(residue, arith::pow_mod<std::uint64_t>(2, static_cast<unsigned>(exponent), q), q);
  }
  return x < 0 ? arith::negate_mod(residue, q) : residue;
}

}  // namespace

std::vector<backend::scalar_pair> constant_residues(context& ctx, arith::window primes,
                                                    std::complex<long double> value) {
  const bool usable =
      std::isfinite(value.real()) && std::isfinite(value.imag()) && std::abs(value) < 0x1p120L;
  HALOCLINE_EXPECTS(usable, invalid_argument, "constant: scaled value ", static_cast<double>(value.real()),
                    " + ", static_cast<double>(value.imag()),
                    "i is not finite or exceeds 2^120; scale it down");
  std::vector<backend::scalar_pair> result;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
    const auto q = arith::make_modulus(ctx.tables().primes[i]);
    const std::uint64_t real = rounded_residue(value.real(), q);
    const std::uint64_t imaginary =
        arith::mul_mod(rounded_residue(value.imag(), q), ctx.ring().imaginary_units()[i], q);
    result.push_back({arith::add_mod(real, imaginary, q), arith::sub_mod(real, imaginary, q)});
  }
  return result;
}

bool has_residues(const params::parameters& parameters, std::complex<double> c) noexcept {
  return c.imag() == 0.0 || parameters.galois_generator() % 4 == 1;
}

std::complex<long double> scaled(std::complex<double> c, double factor) noexcept {
  return {c.real() * static_cast<long double>(factor), c.imag() * static_cast<long double>(factor)};
}

std::vector<ciphertext> times_integer(context& ctx, ciphertext_span many, unsigned level, double scale,
                                      std::complex<long double> scaled) {
  const arith::window primes = ctx.parameters().level(level).q;
  const std::vector<backend::scalar_pair> residues = constant_residues(ctx, primes, scaled);
  std::vector<ciphertext> results;
  std::vector<backend::scalar_job> jobs;
  for (const ciphertext* each : many) {
    ciphertext shape;
    shape.level = level;
    shape.scale = scale;
    shape.slots = each->slots;
    shape.key = each->key;
    const ciphertext& result = results.emplace_back(make_like(ctx, shape, each->parts.size()));
    for (std::size_t i = 0; i < each->parts.size(); ++i) {
      jobs.push_back({part(result, i), part(*each, i).slice(primes), residues});
    }
  }
  ctx.device().scalar_multiply(ctx.tables(), jobs);
  return results;
}

}  // namespace halocline::ckks::detail
