// SPDX-License-Identifier: Apache-2.0
// Additions and the alignment of operands that they and products need.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;

// From this ratio on the nearest integer is as good a factor as the exact ratio (error 2^-31 of the message).
constexpr double integer_ratio = 0x1p30;

/// Operands of an addition at a common level and scale.
struct aligned {
  operands a;
  operands b;
};

/// Same level, different scales: either one scale is a huge multiple of the other, then an integer factor
/// does, or both go one level down to the canonical scale.
void align_scales(evaluator& eval, aligned& both) {
  const double scale_a = both.a.front().scale;
  const double scale_b = both.b.front().scale;
  const unsigned level = both.a.front().level;
  const double ratio = scale_a / scale_b;
  const auto lift = [&](operands& x, double factor, double scale) {
    std::vector<ciphertext> lifted = eval.multiply_constant_raw(x.views, 1.0, std::round(factor));
    for (ciphertext& each : lifted) each.scale = scale;
    x.become(std::move(lifted));
  };
  if (ratio >= integer_ratio) {
    lift(both.b, ratio, scale_a);
  } else if (1.0 / ratio >= integer_ratio) {
    lift(both.a, 1.0 / ratio, scale_b);
  } else {
    HALOCLINE_EXPECTS(level > 0, scale_mismatch, "add: scales 2^", std::log2(scale_a), " and 2^",
                      std::log2(scale_b), " differ and level 0 leaves no room to correct them");
    const double scale = eval.context().parameters().level(level - 1).scale;
    both.a.become(eval.adjust(both.a.views, level - 1, scale));
    both.b.become(eval.adjust(both.b.views, level - 1, scale));
  }
}

/// Brings both operands to one level and scale.
aligned align(evaluator& eval, ciphertext_span first, ciphertext_span second, const char* operation) {
  aligned result{operands(first), operands(second)};
  const ciphertext& a = *first.front();
  const ciphertext& b = *second.front();
  if (eval.mode() == maintenance::manual) {
    HALOCLINE_EXPECTS(a.level == b.level, invalid_argument, operation, ": levels ", a.level, " and ", b.level,
                      " differ; drop_level the higher one, or use automatic mode");
    HALOCLINE_EXPECTS(same_scale(a.scale, b.scale, manual_tolerance), scale_mismatch, operation,
                      ": scales 2^", std::log2(a.scale), " and 2^", std::log2(b.scale),
                      " differ; rescale or adjust one, or use automatic mode");
    return result;
  }
  if (a.level > b.level) {
    result.a.become(eval.adjust(first, b.level, b.scale));
  } else if (b.level > a.level) {
    result.b.become(eval.adjust(second, a.level, a.scale));
  } else if (!same_scale(a.scale, b.scale, scale_tolerance)) {
    align_scales(eval, result);
  }
  return result;
}

/// `run` combines the components that both operands have, `finish` makes those of the longer one.
template <typename CombineT, typename FinishT>
std::vector<ciphertext> combine(evaluator& eval, ciphertext_span a, ciphertext_span b, CombineT run,
                                FinishT finish) {
  context& ctx = eval.context();
  std::vector<ciphertext> results;
  std::vector<backend::binary_job> both;
  std::vector<backend::unary_job> rest;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const ciphertext& longer = a[k]->parts.size() >= b[k]->parts.size() ? *a[k] : *b[k];
    ciphertext& result = results.emplace_back(make_like(ctx, longer, longer.parts.size()));
    result.slots = std::max(a[k]->slots, b[k]->slots);
    result.key = common_key_of(*a[k], *b[k], "add");
    for (std::size_t i = 0; i < result.parts.size(); ++i) {
      if (i < a[k]->parts.size() && i < b[k]->parts.size()) {
        both.push_back({part(result, i), part(*a[k], i), part(*b[k], i)});
      } else {
        rest.push_back({part(result, i), part(longer, i)});
      }
    }
  }
  run(both);
  finish(rest);
  return results;
}

/// Checks the operands of an addition before anything is computed.
void check_operands(const context& ctx, ciphertext_span a, ciphertext_span b, const char* operation) {
  require_pairs(ctx, a, b, operation);
  for (std::size_t k = 0; k < a.size(); ++k) (void)common_key_of(*a[k], *b[k], operation);
}

}  // namespace

ciphertext evaluator::add(const ciphertext& a, const ciphertext& b) {
  const ciphertext* const first[] = {&a};
  const ciphertext* const second[] = {&b};
  return only(add(first, second));
}

std::vector<ciphertext> evaluator::add(ciphertext_span a, ciphertext_span b) {
  const backend::scoped_operation named("add");
  check_operands(ctx_, a, b, "add");
  const aligned both = align(*this, a, b, "add");
  return combine(
      *this, both.a.views, both.b.views, [&](const auto& jobs) { ctx_.device().add(ctx_.tables(), jobs); },
      [&](const auto& jobs) { ctx_.device().copy(ctx_.tables(), jobs); });
}

ciphertext evaluator::sub(const ciphertext& a, const ciphertext& b) {
  const ciphertext* const first[] = {&a};
  const ciphertext* const second[] = {&b};
  return only(sub(first, second));
}

std::vector<ciphertext> evaluator::sub(ciphertext_span a, ciphertext_span b) {
  const backend::scoped_operation named("sub");
  check_operands(ctx_, a, b, "subtract");
  const aligned both = align(*this, a, b, "subtract");
  const bool negate_rest = b.front()->parts.size() > a.front()->parts.size();
  return combine(
      *this, both.a.views, both.b.views, [&](const auto& jobs) { ctx_.device().sub(ctx_.tables(), jobs); },
      [&](const auto& jobs) {
        if (negate_rest) {
          ctx_.device().negate(ctx_.tables(), jobs);
        } else {
          ctx_.device().copy(ctx_.tables(), jobs);
        }
      });
}

ciphertext evaluator::negate(const ciphertext& a) {
  const backend::scoped_operation named("negate");
  check(ctx_, a, "negate");
  ciphertext result = make_like(ctx_, a, a.parts.size());
  std::vector<backend::unary_job> jobs;
  for (std::size_t i = 0; i < a.parts.size(); ++i) jobs.push_back({part(result, i), part(a, i)});
  ctx_.device().negate(ctx_.tables(), jobs);
  return result;
}

ciphertext evaluator::add_plain(const ciphertext& a, const plaintext& p) {
  const backend::scoped_operation named("add_plain");
  check(ctx_, a, "add_plain");
  HALOCLINE_EXPECTS(p.level == a.level, invalid_argument, "add_plain: the plaintext is at level ", p.level,
                    ", the ciphertext at level ", a.level, "; encode it at that level");
  HALOCLINE_EXPECTS(same_scale(a.scale, p.scale, manual_tolerance), scale_mismatch,
                    "add_plain: plaintext scale 2^", std::log2(p.scale), ", ciphertext scale 2^",
                    std::log2(a.scale), "; encode it at that scale");
  ciphertext result = clone(ctx_, a);
  const backend::binary_job job{part(result, 0), part(result, 0), p.value.chain()};
  ctx_.device().add(ctx_.tables(), {&job, 1});
  result.seed.reset();
  return result;
}

ciphertext evaluator::add_values(const ciphertext& a, std::span<const std::complex<double>> values) {
  const backend::scoped_operation named("add_values");
  check(ctx_, a, "add_values");
  return add_plain(a, encoder_.encode(values, a.level, a.scale, a.slots));
}

ciphertext evaluator::add_constant(const ciphertext& a, std::complex<double> c) {
  const ciphertext* const one[] = {&a};
  return only(add_constant(one, c));
}

std::vector<ciphertext> evaluator::add_constant(ciphertext_span many, std::complex<double> c) {
  const backend::scoped_operation named("add_constant");
  require_alike(ctx_, many, "add_constant");
  std::vector<ciphertext> results;
  if (has_residues(ctx_.parameters(), c)) {
    results = clone(ctx_, many);
    add_constants(results, c);
    return results;
  }
  const ciphertext& a = *many.front();
  require_room(ctx_.parameters(), a.level, c, a.scale, "add");
  const std::vector<std::complex<double>> values(a.slots, c);
  for (const ciphertext* each : many) results.push_back(add_values(*each, values));
  return results;
}

}  // namespace halocline::ckks
