// SPDX-License-Identifier: Apache-2.0
// Levels and scales: rescale, drop_level, adjust.
#include <cmath>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/arith/arith.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using namespace detail;

// An adjustment multiplies by an integer factor of at least this many bits, so that rounding the factor costs
// at most 2^-37 of the message: below the noise of a fresh encryption at a 40-bit scale (2^-31).
constexpr double wanted_factor_bits = 36.0;
// Scales far from canonical may leave a smaller factor; below this the loss would be noticeable, so it is
// refused.
constexpr double least_factor_bits = 20.0;

/// log2 of the factor that brings scale `from` over the primes `source` to scale `to` over `target`.
double factor_bits(const params::parameters& parameters, window source, window target, double scale_ratio) {
  double bits = std::log2(scale_ratio);
  for (std::uint32_t i = source.first; i < source.end(); ++i) {
    if (!target.contains(i)) bits += std::log2(static_cast<double>(parameters.primes()[i]));
  }
  for (std::uint32_t i = target.first; i < target.end(); ++i) {
    if (!source.contains(i)) bits -= std::log2(static_cast<double>(parameters.primes()[i]));
  }
  return bits;
}

/// The exact factor: scale_ratio * dropped / added.
long double factor_value(const params::parameters& parameters, window source, window target,
                         long double ratio) {
  for (std::uint32_t i = source.first; i < source.end(); ++i) {
    if (!target.contains(i)) ratio *= static_cast<long double>(parameters.primes()[i]);
  }
  for (std::uint32_t i = target.first; i < target.end(); ++i) {
    if (!source.contains(i)) ratio /= static_cast<long double>(parameters.primes()[i]);
  }
  return ratio;
}

/// The shortest part of `source` from which the factor is large enough: limbs beyond it are ignored, which
/// costs nothing, instead of being divided out.
window shorten(const params::parameters& parameters, window source, window target, double scale_ratio) {
  const std::uint32_t first_main = parameters.special_count() + parameters.terminal_count();
  window shortened = source;
  while (shortened.end() > first_main + 1 && shortened.count > 1) {
    const window shorter{shortened.first, shortened.count - 1};
    if (factor_bits(parameters, shorter, target, scale_ratio) < wanted_factor_bits) break;
    shortened = shorter;
  }
  return shortened;
}

/// Results of operations on `many` at `level`, without components.
std::vector<ciphertext> at_level(ciphertext_span many, unsigned level, double scale) {
  std::vector<ciphertext> results(many.size());
  for (std::size_t k = 0; k < many.size(); ++k) {
    results[k].level = level;
    results[k].scale = scale;
    results[k].slots = many[k]->slots;
    results[k].key = many[k]->key;
  }
  return results;
}

/// Ignores the limbs outside `target`: the message and the scale stay the same.
std::vector<ciphertext> truncate(context& ctx, ciphertext_span many, unsigned level) {
  std::vector<ciphertext> results = at_level(many, level, many.front()->scale);
  const window target = ctx.parameters().level(level).q;
  std::vector<backend::unary_job> jobs;
  for (std::size_t k = 0; k < many.size(); ++k) {
    const ciphertext& a = *many[k];
    results[k].parts.reserve(a.parts.size());
    for (std::size_t i = 0; i < a.parts.size(); ++i) {
      results[k].parts.push_back(
          ring::make_poly(ctx.ring(), target, memory::object_class::ciphertext, ciphertext_tag));
      jobs.push_back({part(results[k], i), part(a, i).slice(target)});
    }
  }
  ctx.device().copy(ctx.tables(), jobs);
  return results;
}

/// Divides all components from the limbs `source` to those of `level`, multiplied by an integer factor, and
/// gives the results `scale`.
std::vector<ciphertext> divide_all(context& ctx, ciphertext_span many, window source, unsigned level,
                                   std::vector<std::uint64_t> factor, double scale) {
  const rns::division step{{}, source, ctx.parameters().level(level).q, std::move(factor)};
  std::vector<const ring::poly*> sources;
  for (const ciphertext* a : many) {
    for (const ring::poly& each : a->parts) sources.push_back(&each);
  }
  std::vector<ring::poly> quotients = rns::divide(ctx.ring(), ctx.converter(), step, sources,
                                                  memory::object_class::ciphertext, ciphertext_tag);
  std::vector<ciphertext> results = at_level(many, level, scale);
  const std::size_t components = many.front()->parts.size();
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    results[i / components].parts.push_back(std::move(quotients[i]));
  }
  return results;
}

}  // namespace

ciphertext evaluator::rescale(const ciphertext& a) {
  const ciphertext* const one[] = {&a};
  return only(rescale(one));
}

std::vector<ciphertext> evaluator::rescale(ciphertext_span many) {
  const backend::scoped_operation named("rescale");
  require_alike(ctx_, many, "rescale");
  const ciphertext& a = *many.front();
  require_level(a, "rescale");
  const params::parameters& parameters = ctx_.parameters();
  const auto scale = static_cast<double>(a.scale / rescale_ratio(parameters, a.level));
  return divide_all(ctx_, many, parameters.level(a.level).q, a.level - 1, {},
                    snap_scale(parameters, a.level - 1, scale));
}

ciphertext evaluator::drop_level(const ciphertext& a, unsigned level) {
  const ciphertext* const one[] = {&a};
  return only(drop_level(one, level));
}

std::vector<ciphertext> evaluator::drop_level(ciphertext_span many, unsigned level) {
  const backend::scoped_operation named("drop_level");
  require_alike(ctx_, many, "drop_level");
  const ciphertext& a = *many.front();
  HALOCLINE_EXPECTS(level <= a.level, level_exhausted, "drop_level: cannot go from level ", a.level,
                    " up to level ", level);
  const params::parameters& parameters = ctx_.parameters();
  const double scale = a.scale * (parameters.level(level).scale / parameters.level(a.level).scale);
  return adjust(many, level, snap_scale(parameters, level, scale));
}

ciphertext evaluator::adjust(const ciphertext& a, unsigned level, double scale) {
  const ciphertext* const one[] = {&a};
  return only(adjust(one, level, scale));
}

std::vector<ciphertext> evaluator::adjust(ciphertext_span many, unsigned level, double scale) {
  const backend::scoped_operation named("adjust");
  require_alike(ctx_, many, "adjust");
  const ciphertext& a = *many.front();
  HALOCLINE_EXPECTS(level <= a.level, level_exhausted, "adjust: cannot go from level ", a.level,
                    " up to level ", level);
  HALOCLINE_EXPECTS(std::isfinite(scale) && scale > 0, invalid_argument, "adjust: scale ", scale,
                    " must be positive and finite");
  const params::parameters& parameters = ctx_.parameters();
  const window source = parameters.level(a.level).q;
  const window target = parameters.level(level).q;
  const bool same = same_scale(a.scale, scale, scale_tolerance);
  if (same && level == a.level) return clone(ctx_, many);
  if (same && has_primes_of(parameters, a.level, level)) return truncate(ctx_, many, level);

  const double ratio = scale / a.scale;
  const window from = shorten(parameters, source, target, ratio);
  const double bits = factor_bits(parameters, from, target, ratio);
  HALOCLINE_EXPECTS(bits >= least_factor_bits, scale_mismatch, "adjust: scale 2^", std::log2(a.scale),
                    " at level ", a.level, " cannot become scale 2^", std::log2(scale), " at level ", level,
                    " with ", "enough precision; drop to a lower level or rescale first");
  const auto wide = constant_residues(ctx_, from, factor_value(parameters, from, target, ratio));
  std::vector<std::uint64_t> factor;
  for (const backend::scalar_pair& each : wide) factor.push_back(each.low);
  return divide_all(ctx_, many, from, level, std::move(factor), scale);
}

}  // namespace halocline::ckks
