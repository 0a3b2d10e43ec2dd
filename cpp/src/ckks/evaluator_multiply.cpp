// SPDX-License-Identifier: Apache-2.0
// Products, relinearization and the fused division that finishes them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_up.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;
using memory::object_class;

// Constants up to this size multiply as integers: they cost 20 bits of range at most, and no level.
constexpr double integer_constant_limit = 0x1p20;

bool is_small_integer(std::complex<double> c) {
  return c.real() == std::round(c.real()) && c.imag() == std::round(c.imag()) &&
         std::abs(c.real()) <= integer_constant_limit && std::abs(c.imag()) <= integer_constant_limit;
}

/// Three components of scratch: (sum a0 b0, sum a0 b1 + a1 b0, sum a1 b1).
struct tensor_product {
  ring::poly d0, d1, d2;
};

tensor_product make_tensor(context& ctx, unsigned level) {
  const arith::window chain = ctx.parameters().level(level).q;
  const auto limbs = [&] {
    return ring::make_poly(ctx.ring(), chain, object_class::scratch, "multiply.tensor");
  };
  return {limbs(), limbs(), limbs()};
}

void require_two_parts(const ciphertext& a, const char* operation) {
  HALOCLINE_EXPECTS(a.parts.size() == 2, invalid_argument, operation, ": the ciphertext has ", a.parts.size(),
                    " components; relinearize it first");
}

tensor_product tensor(context& ctx, const ciphertext& a, const ciphertext& b) {
  tensor_product t = make_tensor(ctx, a.level);
  const backend::tensor_job job{t.d0.chain(), t.d1.chain(), t.d2.chain(), part(a, 0),
                                part(a, 1),   part(b, 0),   part(b, 1)};
  ctx.device().tensor(ctx.tables(), {&job, 1});
  return t;
}

/// Switches d2 to s, adds (d0, d1) and divides by P; with `target` below `level` the rescale is part of the
/// division.
std::vector<ring::poly> relinearized(context& ctx, const evaluation_key& key, const backend::limb_view& d0,
                                     const backend::limb_view& d1, const backend::limb_view& d2,
                                     unsigned level, unsigned target) {
  const poly_pair extended = switch_product(ctx, d2, key, d0, d1);
  return finish_switch(ctx, extended, level, target);
}

/// A tensor product as a ciphertext of three components.
ciphertext unfinished(tensor_product t, unsigned level, double scale, std::uint32_t slots,
                      const key_id& secret) {
  ciphertext result;
  result.level = level;
  result.scale = scale;
  result.slots = slots;
  result.key = secret;
  result.parts.push_back(std::move(t.d0));
  result.parts.push_back(std::move(t.d1));
  result.parts.push_back(std::move(t.d2));
  return result;
}

/// Relinearizes and rescales three components.
ciphertext finished(evaluator& eval, const ciphertext& a, const char* operation) {
  context& ctx = eval.context();
  const params::parameters& parameters = ctx.parameters();
  ciphertext result;
  result.slots = a.slots;
  result.key = a.key;
  result.level = a.level - 1;
  result.scale =
      snap_scale(parameters, a.level - 1, static_cast<double>(a.scale / rescale_ratio(parameters, a.level)));
  const evaluation_key& key =
      matching_key(eval.keys(), relinearization_element, a.level, result.key, operation);
  result.parts = relinearized(ctx, key, part(a, 0), part(a, 1), part(a, 2), a.level, a.level - 1);
  return result;
}

/// The operand itself, or a copy at `level` when it is higher.
const ciphertext& at_level(evaluator& eval, const ciphertext& a, unsigned level,
                           std::optional<ciphertext>& copy) {
  if (a.level == level) return a;
  HALOCLINE_EXPECTS(eval.mode() == maintenance::automatic, invalid_argument, "multiply: levels ", a.level,
                    " and ", level, " differ; drop_level the higher one, or use automatic mode");
  copy = eval.drop_level(a, level);
  return *copy;
}

/// Lowest level, largest slot count and common key of all factors.
struct common_shape {
  unsigned level;
  std::uint32_t slots;
  key_id key;
};

/// The shape of factors, which are checked on the way.
common_shape shape_of(evaluator& eval, std::span<const ciphertext* const> a,
                      std::span<const ciphertext* const> b) {
  auto [level, slots, key] = common_shape{a.front()->level, 1, {}};
  for (const auto& factors : {a, b}) {
    for (const ciphertext* factor : factors) {
      check(eval.context(), *factor, "dot");
      require_two_parts(*factor, "dot");
      level = std::min(level, factor->level);
      slots = std::max(slots, factor->slots);
      key = common_key(key, factor->key, "dot", "a factor", "another factor");
    }
  }
  HALOCLINE_EXPECTS(level > 0 || eval.mode() == maintenance::manual, level_exhausted,
                    "dot: a factor is at level 0 and has no multiplication left");
  return {level, slots, key};
}

/// a * b up to its key switch.
ciphertext product(evaluator& eval, const ciphertext& a, const ciphertext& b) {
  context& ctx = eval.context();
  check(ctx, a, "multiply");
  check(ctx, b, "multiply");
  require_two_parts(a, "multiply");
  require_two_parts(b, "multiply");
  const key_id key = common_key_of(a, b, "multiply");
  const unsigned level = std::min(a.level, b.level);
  if (eval.mode() == maintenance::automatic) require_level(a.level < b.level ? a : b, "multiply");
  std::optional<ciphertext> lower_a;
  std::optional<ciphertext> lower_b;
  const ciphertext& x = at_level(eval, a, level, lower_a);
  const ciphertext& y = at_level(eval, b, level, lower_b);
  return unfinished(tensor(ctx, x, y), level, x.scale * y.scale, std::max(a.slots, b.slots), key);
}

/// sum_i a_i * b_i up to its key switch.
ciphertext sum_of_products(evaluator& eval, std::span<const ciphertext* const> a,
                           std::span<const ciphertext* const> b) {
  context& ctx = eval.context();
  HALOCLINE_EXPECTS(!a.empty() && a.size() == b.size(), invalid_argument, "dot: ", a.size(), " and ",
                    b.size(), " factors; expected the same positive number");
  const auto [level, slots, key] = shape_of(eval, a, b);
  std::vector<std::optional<ciphertext>> lowered(2 * a.size());
  backend::dot_job d0, d1, d2;
  double scale = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const ciphertext& x = at_level(eval, *a[i], level, lowered[2 * i]);
    const ciphertext& y = at_level(eval, *b[i], level, lowered[2 * i + 1]);
    if (i == 0) scale = x.scale * y.scale;
    HALOCLINE_EXPECTS(same_scale(scale, x.scale * y.scale, manual_tolerance), scale_mismatch, "dot: product ",
                      i, " has scale 2^", std::log2(x.scale * y.scale), ", the first 2^", std::log2(scale),
                      "; rescale the factors first");
    d0.a.push_back(part(x, 0));
    d0.b.push_back(part(y, 0));
    d1.a.insert(d1.a.end(), {part(x, 0), part(x, 1)});
    d1.b.insert(d1.b.end(), {part(y, 1), part(y, 0)});
    d2.a.push_back(part(x, 1));
    d2.b.push_back(part(y, 1));
  }
  tensor_product t = make_tensor(ctx, level);
  d0.dst = t.d0.chain();
  d1.dst = t.d1.chain();
  d2.dst = t.d2.chain();
  const std::vector<backend::dot_job> jobs{std::move(d0), std::move(d1), std::move(d2)};
  ctx.device().dot(ctx.tables(), jobs);
  return unfinished(std::move(t), level, scale, slots, key);
}

}  // namespace

ciphertext evaluator::multiply(const ciphertext& a, const ciphertext& b) {
  const backend::scoped_operation named("multiply");
  ciphertext made = product(*this, a, b);
  return mode_ == maintenance::manual ? std::move(made) : finished(*this, made, "multiply");
}

ciphertext evaluator::unfinished_product(const ciphertext& a, const ciphertext& b) {
  const backend::scoped_operation named("multiply");
  return product(*this, a, b);
}

ciphertext evaluator::finish_product(const ciphertext& a) {
  const backend::scoped_operation named("multiply");
  check(ctx_, a, "multiply");
  require_level(a, "multiply");
  HALOCLINE_EXPECTS(a.parts.size() == 3, invalid_argument, "finish_product: the ciphertext has ",
                    a.parts.size(), " components, expected 3 (a product that is not finished)");
  return finished(*this, a, "multiply");
}

ciphertext evaluator::square(const ciphertext& a) { return multiply(a, a); }

ciphertext evaluator::dot(std::span<const ciphertext* const> a, std::span<const ciphertext* const> b) {
  const backend::scoped_operation named("dot");
  ciphertext made = sum_of_products(*this, a, b);
  return mode_ == maintenance::manual ? std::move(made) : finished(*this, made, "multiply");
}

ciphertext evaluator::unfinished_dot(std::span<const ciphertext* const> a,
                                     std::span<const ciphertext* const> b) {
  const backend::scoped_operation named("dot");
  return sum_of_products(*this, a, b);
}

ciphertext evaluator::relinearize(const ciphertext& a) {
  const backend::scoped_operation named("relinearize");
  check(ctx_, a, "relinearize");
  HALOCLINE_EXPECTS(a.parts.size() == 3, invalid_argument, "relinearize: the ciphertext has ", a.parts.size(),
                    " components, expected 3 (a product in manual mode)");
  ciphertext result;
  result.level = a.level;
  result.scale = a.scale;
  result.slots = a.slots;
  result.key = a.key;
  const evaluation_key& key =
      matching_key(keys_, relinearization_element, a.level, result.key, "relinearize");
  result.parts = relinearized(ctx_, key, part(a, 0), part(a, 1), part(a, 2), a.level, a.level);
  return result;
}

ciphertext evaluator::multiply_plain(const ciphertext& a, const plaintext& p) {
  const backend::scoped_operation named("multiply_plain");
  check(ctx_, a, "multiply_plain");
  HALOCLINE_EXPECTS(p.level == a.level, invalid_argument, "multiply_plain: the plaintext is at level ",
                    p.level, ", the ciphertext at level ", a.level, "; encode it at that level");
  ciphertext result = make_like(ctx_, a, a.parts.size());
  result.scale = a.scale * p.scale;
  std::vector<backend::binary_job> jobs;
  for (std::size_t i = 0; i < a.parts.size(); ++i)
    jobs.push_back({part(result, i), part(a, i), p.value.chain()});
  ctx_.device().multiply(ctx_.tables(), jobs);
  return result;
}

ciphertext evaluator::multiply_values(const ciphertext& a, std::span<const std::complex<double>> values) {
  const backend::scoped_operation named("multiply_values");
  check(ctx_, a, "multiply_values");
  if (mode_ == maintenance::manual) {
    return multiply_plain(a,
                          encoder_.encode(values, a.level, ctx_.parameters().level(a.level).scale, a.slots));
  }
  require_level(a, "multiply by values");
  const double scale = matching_plain_scale(ctx_.parameters(), a.level, a.scale);
  return rescale(multiply_plain(a, encoder_.encode(values, a.level, scale, a.slots)));
}

double evaluator::plain_scale(const ciphertext& a) const {
  check(ctx_, a, "plain_scale");
  if (mode_ == maintenance::manual) return ctx_.parameters().level(a.level).scale;
  require_level(a, "multiply by values");
  return matching_plain_scale(ctx_.parameters(), a.level, a.scale);
}

ciphertext evaluator::multiply_constant(const ciphertext& a, std::complex<double> c) {
  const backend::scoped_operation named("multiply_constant");
  check(ctx_, a, "multiply_constant");
  if (is_small_integer(c) && (c.imag() == 0.0 || ctx_.parameters().galois_generator() % 4 == 1)) {
    return multiply_constant_raw(a, c, 1.0);
  }
  if (mode_ == maintenance::manual)
    return multiply_constant_raw(a, c, ctx_.parameters().level(a.level).scale);
  require_level(a, "multiply by a constant");
  return rescale(multiply_constant_raw(a, c, matching_plain_scale(ctx_.parameters(), a.level, a.scale)));
}

ciphertext evaluator::multiply_constant_raw(const ciphertext& a, std::complex<double> c, double scale) {
  const backend::scoped_operation named("multiply_constant");
  check(ctx_, a, "multiply_constant");
  require_room(ctx_.parameters(), a, c, scale, "multiply");
  if (c.imag() != 0.0 && ctx_.parameters().galois_generator() % 4 != 1) {
    // With generator 3 X^(N/2) is i in every other slot and -i between them: the constant needs a full
    // encoding.
    const std::vector<std::complex<double>> values(a.slots, c);
    return multiply_plain(a, encoder_.encode(values, a.level, scale, a.slots));
  }
  const std::complex<long double> scaled(c.real() * static_cast<long double>(scale),
                                         c.imag() * static_cast<long double>(scale));
  const std::vector<backend::scalar_pair> residues = constant_residues(ctx_, part(a, 0).primes, scaled);
  ciphertext result = make_like(ctx_, a, a.parts.size());
  result.scale = a.scale * scale;
  std::vector<backend::scalar_job> jobs;
  for (std::size_t i = 0; i < a.parts.size(); ++i) jobs.push_back({part(result, i), part(a, i), residues});
  ctx_.device().scalar_multiply(ctx_.tables(), jobs);
  return result;
}

ciphertext evaluator::multiply_by_i(const ciphertext& a) { return multiply_constant(a, {0.0, 1.0}); }

}  // namespace halocline::ckks
