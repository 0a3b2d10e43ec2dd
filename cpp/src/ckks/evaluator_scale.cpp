// SPDX-License-Identifier: Apache-2.0
// Levels and scales: rescale, drop_level, adjust.
#include <cmath>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/arith/arith.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/joined_sums.hpp"
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

/// Result of an operation on `a`, without components.
ciphertext at_level(const ciphertext& a, unsigned level, double scale) {
  ciphertext result;
  result.level = level;
  result.scale = scale;
  result.slots = a.slots;
  result.key = a.key;
  return result;
}

/// Copies what only loses limbs, or nothing, to the level of each adjustment: the message and the scale stay
/// the same.
void truncate(context& ctx, std::span<const adjustment> some, std::span<ciphertext* const> results) {
  std::vector<backend::unary_job> jobs;
  for (std::size_t k = 0; k < some.size(); ++k) {
    const ciphertext& a = *some[k].value;
    const window target = ctx.parameters().level(some[k].level).q;
    ciphertext& result = *results[k] = at_level(a, some[k].level, a.scale);
    result.parts.reserve(a.parts.size());
    for (std::size_t i = 0; i < a.parts.size(); ++i) {
      result.parts.push_back(
          ring::make_poly(ctx.ring(), target, memory::object_class::ciphertext, ciphertext_tag));
      jobs.push_back({part(result, i), part(a, i).slice(target)});
    }
  }
  ctx.device().copy(ctx.tables(), jobs);
}

/// How a ciphertext is divided: from the limbs `source` to those of a level, multiplied by an integer factor.
struct level_division {
  window source;
  std::vector<std::uint64_t> factor;

  bool operator==(const level_division&) const = default;
};

/// Divides all components.
void divide_all(context& ctx, std::span<const adjustment> some, std::span<const level_division> steps,
                std::span<ciphertext* const> results) {
  std::vector<rns::division_batch> batches;
  for (std::size_t k = 0; k < some.size(); ++k) {
    const window target = ctx.parameters().level(some[k].level).q;
    if (k == 0 || steps[k] != steps[k - 1] || some[k].level != some[k - 1].level) {
      batches.push_back({{{}, steps[k].source, target, steps[k].factor}, {}});
    }
    for (const ring::poly& each : some[k].value->parts) batches.back().sources.push_back(&each);
  }
  std::vector<ring::poly> quotients =
      rns::divide(ctx.ring(), ctx.converter(), batches, memory::object_class::ciphertext, ciphertext_tag);
  auto next = quotients.begin();
  for (std::size_t k = 0; k < some.size(); ++k) {
    *results[k] = at_level(*some[k].value, some[k].level, some[k].scale);
    for (std::size_t i = 0; i < some[k].value->parts.size(); ++i) {
      results[k]->parts.push_back(std::move(*next++));
    }
  }
}

/// Pointers to all, for functions that fill some of them.
std::vector<ciphertext*> addresses(std::vector<ciphertext>& values) {
  std::vector<ciphertext*> result;
  for (ciphertext& each : values) result.push_back(&each);
  return result;
}

/// The division that an adjustment takes. @throws scale_mismatch
level_division division_of(context& ctx, const adjustment& to) {
  const params::parameters& parameters = ctx.parameters();
  const ciphertext& a = *to.value;
  const window target = parameters.level(to.level).q;
  const double ratio = to.scale / a.scale;
  const window from = shorten(parameters, parameters.level(a.level).q, target, ratio);
  const double bits = factor_bits(parameters, from, target, ratio);
  HALOCLINE_EXPECTS(bits >= least_factor_bits, scale_mismatch, "adjust: scale 2^", std::log2(a.scale),
                    " at level ", a.level, " cannot become scale 2^", std::log2(to.scale), " at level ",
                    to.level, " with ", "enough precision; drop to a lower level or rescale first");
  level_division step{from, {}};
  for (const backend::scalar_pair& each :
       constant_residues(ctx, from, factor_value(parameters, from, target, ratio))) {
    step.factor.push_back(each.low);
  }
  return step;
}

/// Whether an adjustment leaves the message and the scale as they are.
bool keeps_scale(const params::parameters& parameters, const adjustment& to) {
  return same_scale(to.value->scale, to.scale, scale_tolerance) &&
         (to.value->level == to.level || has_primes_of(parameters, to.value->level, to.level));
}

/// Whether both adjustments take the same division.
bool alike(const adjustment& a, const adjustment& b) {
  return a.value->level == b.value->level && a.value->scale == b.value->scale && a.level == b.level &&
         a.scale == b.scale;
}

void check_adjustment(const adjustment& to) {
  HALOCLINE_EXPECTS(to.level <= to.value->level, level_exhausted, "adjust: cannot go from level ",
                    to.value->level, " up to level ", to.level);
  HALOCLINE_EXPECTS(std::isfinite(to.scale) && to.scale > 0, invalid_argument, "adjust: scale ", to.scale,
                    " must be positive and finite");
}

}  // namespace

ciphertext evaluator::rescale(const ciphertext& a) {
  const ciphertext* const one[] = {&a};
  return only(rescale(one));
}

std::vector<ciphertext> evaluator::rescale(ciphertext_span many) {
  const backend::scoped_operation named("rescale");
  require_alike_but_scales(ctx_, many, "rescale");
  require_level(*many.front(), "rescale");
  const params::parameters& parameters = ctx_.parameters();
  const unsigned level = many.front()->level;
  std::vector<adjustment> targets;
  for (const ciphertext* each : many) {
    targets.push_back({each, level - 1, rescaled_scale(parameters, level, each->scale)});
  }
  std::vector<ciphertext> results(many.size());
  const std::vector<level_division> steps(many.size(), {parameters.level(level).q, {}});
  divide_all(ctx_, targets, steps, addresses(results));
  return results;
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
  std::vector<adjustment> targets;
  for (const ciphertext* each : many) {
    check_adjustment(targets.emplace_back(adjustment{each, level, scale}));
  }
  if (many.front()->level == level && keeps_scale(ctx_.parameters(), targets.front())) {
    return clone(ctx_, many);
  }
  return adjusted(ctx_, targets);
}

std::vector<ciphertext> adjusted(context& ctx, std::span<const adjustment> targets) {
  std::vector<ciphertext> results(targets.size());
  std::vector<adjustment> kept, divided;
  std::vector<ciphertext*> kept_results, divided_results;
  std::vector<level_division> steps;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    check_adjustment(targets[k]);
    if (keeps_scale(ctx.parameters(), targets[k])) {
      kept.push_back(targets[k]);
      kept_results.push_back(&results[k]);
      continue;
    }
    const bool again = !divided.empty() && alike(divided.back(), targets[k]);
    steps.push_back(again ? steps.back() : division_of(ctx, targets[k]));
    divided.push_back(targets[k]);
    divided_results.push_back(&results[k]);
  }
  if (!kept.empty()) truncate(ctx, kept, kept_results);
  if (!divided.empty()) divide_all(ctx, divided, steps, divided_results);
  return results;
}

}  // namespace halocline::ckks
