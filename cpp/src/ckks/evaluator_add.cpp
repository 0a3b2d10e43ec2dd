// SPDX-License-Identifier: Apache-2.0
// Additions and the alignment of operands that they and products need.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

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

/// Operands of an addition at a common level and scale; copies exist only where an operand had to change.
struct aligned {
  std::optional<ciphertext> changed_a;
  std::optional<ciphertext> changed_b;
};

const ciphertext& pick(const std::optional<ciphertext>& changed, const ciphertext& original) {
  return changed ? *changed : original;
}

/// Same level, different scales: either one scale is a huge multiple of the other, then an integer factor
/// does, or both go one level down to the canonical scale.
aligned align_scales(evaluator& eval, const ciphertext& a, const ciphertext& b) {
  aligned result;
  const double ratio = a.scale / b.scale;
  const auto lift = [&](const ciphertext& x, double factor, double scale) {
    ciphertext lifted = eval.multiply_constant_raw(x, 1.0, std::round(factor));
    lifted.scale = scale;
    return lifted;
  };
  if (ratio >= integer_ratio) {
    result.changed_b = lift(b, ratio, a.scale);
  } else if (1.0 / ratio >= integer_ratio) {
    result.changed_a = lift(a, 1.0 / ratio, b.scale);
  } else {
    HALOCLINE_EXPECTS(a.level > 0, scale_mismatch, "add: scales 2^", std::log2(a.scale), " and 2^",
                      std::log2(b.scale), " differ and level 0 leaves no room to correct them");
    const double scale = eval.context().parameters().level(a.level - 1).scale;
    result.changed_a = eval.adjust(a, a.level - 1, scale);
    result.changed_b = eval.adjust(b, a.level - 1, scale);
  }
  return result;
}

/// Brings both operands to one level and scale.
aligned align(evaluator& eval, const ciphertext& a, const ciphertext& b, const char* operation) {
  aligned result;
  if (eval.mode() == maintenance::manual) {
    HALOCLINE_EXPECTS(a.level == b.level, invalid_argument, operation, ": levels ", a.level, " and ", b.level,
                      " differ; drop_level the higher one, or use automatic mode");
    HALOCLINE_EXPECTS(same_scale(a.scale, b.scale, manual_tolerance), scale_mismatch, operation,
                      ": scales 2^", std::log2(a.scale), " and 2^", std::log2(b.scale),
                      " differ; rescale or adjust one, or use automatic mode");
    return result;
  }
  if (a.level > b.level) {
    result.changed_a = eval.adjust(a, b.level, b.scale);
  } else if (b.level > a.level) {
    result.changed_b = eval.adjust(b, a.level, a.scale);
  } else if (!same_scale(a.scale, b.scale, scale_tolerance)) {
    result = align_scales(eval, a, b);
  }
  return result;
}

template <typename CombineT, typename FinishT>
ciphertext combine(evaluator& eval, const ciphertext& a, const ciphertext& b, CombineT run, FinishT finish) {
  context& ctx = eval.context();
  const ciphertext& longer = a.parts.size() >= b.parts.size() ? a : b;
  ciphertext result = make_like(ctx, longer, longer.parts.size());
  result.slots = std::max(a.slots, b.slots);
  result.key = common_key_of(a, b, "add");
  std::vector<backend::binary_job> both;
  std::vector<backend::unary_job> rest;
  for (std::size_t i = 0; i < result.parts.size(); ++i) {
    if (i < a.parts.size() && i < b.parts.size()) {
      both.push_back({part(result, i), part(a, i), part(b, i)});
    } else {
      rest.push_back({part(result, i), part(longer, i)});
    }
  }
  run(both);
  finish(rest);
  return result;
}

}  // namespace

ciphertext evaluator::add(const ciphertext& a, const ciphertext& b) {
  const backend::scoped_operation named("add");
  check(ctx_, a, "add");
  check(ctx_, b, "add");
  (void)common_key_of(a, b, "add");  // before anything is computed
  const aligned operands = align(*this, a, b, "add");
  return combine(
      *this, pick(operands.changed_a, a), pick(operands.changed_b, b),
      [&](const auto& jobs) { ctx_.device().add(ctx_.tables(), jobs); },
      [&](const auto& jobs) { ctx_.device().copy(ctx_.tables(), jobs); });
}

ciphertext evaluator::sub(const ciphertext& a, const ciphertext& b) {
  const backend::scoped_operation named("sub");
  check(ctx_, a, "subtract");
  check(ctx_, b, "subtract");
  (void)common_key_of(a, b, "subtract");
  const aligned operands = align(*this, a, b, "subtract");
  const bool negate_rest = b.parts.size() > a.parts.size();
  return combine(
      *this, pick(operands.changed_a, a), pick(operands.changed_b, b),
      [&](const auto& jobs) { ctx_.device().sub(ctx_.tables(), jobs); },
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
  const backend::scoped_operation named("add_constant");
  check(ctx_, a, "add_constant");
  require_room(ctx_.parameters(), a, c, a.scale, "add");
  if (c.imag() != 0.0 && ctx_.parameters().galois_generator() % 4 != 1) {
    return add_values(a, std::vector<std::complex<double>>(a.slots, c));
  }
  ciphertext result = clone(ctx_, a);
  result.seed.reset();
  const std::complex<long double> scaled(c.real() * static_cast<long double>(a.scale),
                                         c.imag() * static_cast<long double>(a.scale));
  const backend::limb_view view = part(result, 0);
  const backend::scalar_job job{view, view, constant_residues(ctx_, view.primes, scaled)};
  ctx_.device().scalar_add(ctx_.tables(), {&job, 1});
  return result;
}

}  // namespace halocline::ckks
