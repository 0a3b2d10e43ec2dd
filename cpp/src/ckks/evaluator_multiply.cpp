// SPDX-License-Identifier: Apache-2.0
// Products, relinearization and the fused division that finishes them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/joined_sums.hpp"
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

/// What relinearization takes, and the level of what it gives.
struct relinearization {
  const evaluation_key& key;
  unsigned level;
  unsigned target;  ///< below `level`: the rescale is part of the division by P
};

/// Switches d2 of every product to s, adds (d0, d1) and divides.
std::vector<std::vector<ring::poly>> relinearized(context& ctx, ciphertext_span products,
                                                  const relinearization& step) {
  std::vector<switch_source> sources;
  for (const ciphertext* each : products) sources.push_back({part(*each, 2), part(*each, 0), part(*each, 1)});
  const std::vector<poly_pair> extended = switch_product(ctx, sources, step.key);
  return finish_switch(ctx, extended, step.level, step.target);
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

/// Relinearizes three components of ciphertexts of one level; with `target` one below that, also rescales.
std::vector<ciphertext> switched(evaluator& eval, ciphertext_span many, unsigned target,
                                 const char* operation) {
  context& ctx = eval.context();
  const params::parameters& parameters = ctx.parameters();
  const unsigned level = many.front()->level;
  std::vector<ciphertext> results(many.size());
  const evaluation_key* key = nullptr;
  for (std::size_t k = 0; k < many.size(); ++k) {
    results[k].slots = many[k]->slots;
    results[k].key = many[k]->key;
    results[k].level = target;
    const double scale = many[k]->scale;
    results[k].scale = target < level ? rescaled_scale(parameters, level, scale) : scale;
    key = &matching_key(eval.keys(), relinearization_element, level, results[k].key, operation);
  }
  std::vector<std::vector<ring::poly>> parts = relinearized(ctx, many, {*key, level, target});
  for (std::size_t k = 0; k < many.size(); ++k) results[k].parts = std::move(parts[k]);
  return results;
}

/// Relinearizes and rescales three components.
std::vector<ciphertext> finished(evaluator& eval, ciphertext_span many, const char* operation) {
  return switched(eval, many, many.front()->level - 1, operation);
}

/// Products as `multiply` and `dot` give them.
std::vector<ciphertext> finished_unless_manual(evaluator& eval, std::vector<ciphertext> made) {
  if (eval.mode() == maintenance::manual) return made;
  return finished(eval, pointers(made), "multiply");
}

/// Brings operands down to `level`.
void lower(evaluator& eval, operands& many, unsigned level) {
  const unsigned from = many.front().level;
  if (from == level) return;
  HALOCLINE_EXPECTS(eval.mode() == maintenance::automatic, invalid_argument, "multiply: levels ", from,
                    " and ", level, " differ; drop_level the higher one, or use automatic mode");
  many.become(eval.drop_level(many.views, level));
}

/// a[i] * b[i] up to the key switch.
std::vector<ciphertext> products(evaluator& eval, ciphertext_span a, ciphertext_span b) {
  context& ctx = eval.context();
  require_pairs(ctx, a, b, "multiply");
  require_two_parts(*a.front(), "multiply");
  require_two_parts(*b.front(), "multiply");
  std::vector<key_id> keys;
  for (std::size_t k = 0; k < a.size(); ++k) keys.push_back(common_key_of(*a[k], *b[k], "multiply"));
  const unsigned level = std::min(a.front()->level, b.front()->level);
  if (eval.mode() == maintenance::automatic) {
    require_level(a.front()->level < b.front()->level ? *a.front() : *b.front(), "multiply");
  }
  operands x(a);
  operands y(b);
  lower(eval, x, level);
  lower(eval, y, level);
  const std::uint32_t slots = std::max(a.front()->slots, b.front()->slots);
  const double scale = x.front().scale * y.front().scale;
  std::vector<ciphertext> results;
  std::vector<backend::tensor_job> jobs;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const ciphertext& made =
        results.emplace_back(unfinished(make_tensor(ctx, level), level, scale, slots, keys[k]));
    jobs.push_back({part(made, 0), part(made, 1), part(made, 2), part(*x.views[k], 0), part(*x.views[k], 1),
                    part(*y.views[k], 0), part(*y.views[k], 1)});
  }
  ctx.device().tensor(ctx.tables(), jobs);
  return results;
}

/// Number of sums and lowest level of their factors.
struct common_shape {
  std::size_t sums;
  unsigned level;
};

using factor_lists = std::span<const std::vector<const ciphertext*>>;

/// The shape of factors, which are checked on the way.
common_shape shape_of(evaluator& eval, factor_lists a, factor_lists b) {
  HALOCLINE_EXPECTS(!a.empty() && a.size() == b.size(), invalid_argument, "dot: ", a.size(), " and ",
                    b.size(), " factors; expected the same positive number");
  HALOCLINE_EXPECTS(!a.front().empty(), invalid_argument, "dot: no ciphertexts; expected at least one");
  common_shape shape{a.front().size(), a.front().front()->level};
  std::vector<key_id> keys(shape.sums);
  for (const auto& factors : {a, b}) {
    for (const std::vector<const ciphertext*>& factor : factors) {
      HALOCLINE_EXPECTS(factor.size() == shape.sums, invalid_argument, "dot: a factor of ", factor.size(),
                        " sums; expected ", shape.sums, ", as many as the first has");
      require_alike(eval.context(), factor, "dot");
      require_two_parts(*factor.front(), "dot");
      shape.level = std::min(shape.level, factor.front()->level);
      for (std::size_t k = 0; k < shape.sums; ++k) {
        keys[k] = common_key(keys[k], factor[k]->key, "dot", "a factor", "another factor");
      }
    }
  }
  HALOCLINE_EXPECTS(shape.level > 0 || eval.mode() == maintenance::manual, level_exhausted,
                    "dot: a factor is at level 0 and has no multiplication left");
  return shape;
}

/// The three sums of one dot product, without where they go.
struct dot_jobs {
  backend::dot_job d0, d1, d2;

  /// Adds x * y modulo `primes`, which both have.
  void add(const ciphertext& x, const ciphertext& y, arith::window primes) {
    const backend::limb_view x0 = part(x, 0).slice(primes);
    const backend::limb_view x1 = part(x, 1).slice(primes);
    const backend::limb_view y0 = part(y, 0).slice(primes);
    const backend::limb_view y1 = part(y, 1).slice(primes);
    d0.a.push_back(x0);
    d0.b.push_back(y0);
    d1.a.insert(d1.a.end(), {x0, x1});
    d1.b.insert(d1.b.end(), {y1, y0});
    d2.a.push_back(x1);
    d2.b.push_back(y1);
  }
};

/// What a sum of products has.
struct sum_shape {
  double scale;
  std::uint32_t slots;
  key_id key;
};

/// The shape of a sum at `level`, whose factors are checked on the way.
sum_shape checked_shape(const context& ctx, const product_sum& sum, unsigned level) {
  sum_shape shape{sum.front().first->scale * sum.front().second->scale, 1, {}};
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto& [x, y] = sum[i];
    for (const ciphertext* const factor : {x, y}) {
      require_primes(ctx.parameters(), *factor, level, "dot");
      shape.slots = std::max(shape.slots, factor->slots);
      shape.key = common_key(shape.key, factor->key, "dot", "a factor", "another factor");
    }
    const double product = x->scale * y->scale;
    HALOCLINE_EXPECTS(same_scale(shape.scale, product, manual_tolerance), scale_mismatch, "dot: product ", i,
                      " has scale 2^", std::log2(product), ", the first 2^", std::log2(shape.scale),
                      "; rescale the factors first");
  }
  return shape;
}

/// sum_i a[i][j] * b[i][j] up to the key switch. With a level factors stay as they are, and the sums have the
/// primes of that level; else the higher ones come down to the lowest.
std::vector<ciphertext> sums_of_products(evaluator& eval, factor_lists a, factor_lists b,
                                         std::optional<unsigned> level = std::nullopt) {
  common_shape shape = shape_of(eval, a, b);
  if (level) shape.level = *level;
  std::vector<operands> lowered;  // keeps what the sums read
  std::vector<product_sum> sums(shape.sums);
  for (std::size_t i = 0; i < a.size(); ++i) {
    operands x(a[i]);
    operands y(b[i]);
    if (!level) {
      lower(eval, x, shape.level);
      lower(eval, y, shape.level);
    }
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k].emplace_back(x.views[k], y.views[k]);
    lowered.push_back(std::move(x));
    lowered.push_back(std::move(y));
  }
  return unfinished_sums(eval.context(), sums, shape.level);
}

/// Each factor as a list of one.
std::vector<std::vector<const ciphertext*>> lists_of_one(ciphertext_span factors) {
  std::vector<std::vector<const ciphertext*>> result;
  for (const ciphertext* each : factors) result.push_back({each});
  return result;
}

}  // namespace

std::vector<ciphertext> unfinished_sums(context& ctx, std::span<const product_sum> sums, unsigned level) {
  const arith::window primes = ctx.parameters().level(level).q;
  std::vector<sum_shape> shapes;
  std::vector<dot_jobs> made;
  for (const product_sum& sum : sums) {
    shapes.push_back(checked_shape(ctx, sum, level));
    made.emplace_back();
    for (const auto& [x, y] : sum) made.back().add(*x, *y, primes);
  }
  std::vector<ciphertext> results;
  std::vector<backend::dot_job> jobs;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const ciphertext& result = results.emplace_back(
        unfinished(make_tensor(ctx, level), level, shapes[k].scale, shapes[k].slots, shapes[k].key));
    made[k].d0.dst = part(result, 0);
    made[k].d1.dst = part(result, 1);
    made[k].d2.dst = part(result, 2);
    jobs.insert(jobs.end(), {std::move(made[k].d0), std::move(made[k].d1), std::move(made[k].d2)});
  }
  ctx.device().dot(ctx.tables(), jobs);
  return results;
}

ciphertext evaluator::multiply(const ciphertext& a, const ciphertext& b) {
  const ciphertext* const first[] = {&a};
  const ciphertext* const second[] = {&b};
  return only(multiply(first, second));
}

std::vector<ciphertext> evaluator::multiply(ciphertext_span a, ciphertext_span b) {
  const backend::scoped_operation named("multiply");
  return finished_unless_manual(*this, products(*this, a, b));
}

ciphertext evaluator::unfinished_product(const ciphertext& a, const ciphertext& b) {
  const backend::scoped_operation named("multiply");
  const ciphertext* const first[] = {&a};
  const ciphertext* const second[] = {&b};
  return only(products(*this, first, second));
}

ciphertext evaluator::finish_product(const ciphertext& a) {
  const ciphertext* const one[] = {&a};
  return only(finish_product(one));
}

std::vector<ciphertext> evaluator::finish_product(ciphertext_span many) {
  const backend::scoped_operation named("multiply");
  require_alike_but_scales(ctx_, many, "multiply");
  require_level(*many.front(), "multiply");
  HALOCLINE_EXPECTS(many.front()->parts.size() == 3, invalid_argument, "finish_product: the ciphertext has ",
                    many.front()->parts.size(), " components, expected 3 (a product that is not finished)");
  return finished(*this, many, "multiply");
}

ciphertext evaluator::square(const ciphertext& a) { return multiply(a, a); }

ciphertext evaluator::dot(ciphertext_span a, ciphertext_span b) {
  return only(dot(lists_of_one(a), lists_of_one(b)));
}

std::vector<ciphertext> evaluator::dot(factor_lists a, factor_lists b) {
  const backend::scoped_operation named("dot");
  return finished_unless_manual(*this, sums_of_products(*this, a, b));
}

ciphertext evaluator::unfinished_dot(ciphertext_span a, ciphertext_span b) {
  const backend::scoped_operation named("dot");
  return only(sums_of_products(*this, lists_of_one(a), lists_of_one(b)));
}

std::vector<ciphertext> evaluator::unfinished_dot(factor_lists a, factor_lists b, unsigned level) {
  const backend::scoped_operation named("dot");
  return sums_of_products(*this, a, b, level);
}

ciphertext evaluator::relinearize(const ciphertext& a) {
  const backend::scoped_operation named("relinearize");
  check(ctx_, a, "relinearize");
  HALOCLINE_EXPECTS(a.parts.size() == 3, invalid_argument, "relinearize: the ciphertext has ", a.parts.size(),
                    " components, expected 3 (a product in manual mode)");
  const ciphertext* const one[] = {&a};
  return only(switched(*this, one, a.level, "relinearize"));
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
  const ciphertext* const one[] = {&a};
  return only(multiply_constant(one, c));
}

std::vector<ciphertext> evaluator::multiply_constant(ciphertext_span many, std::complex<double> c) {
  const backend::scoped_operation named("multiply_constant");
  require_alike(ctx_, many, "multiply_constant");
  const ciphertext& a = *many.front();
  if (is_small_integer(c) && has_residues(ctx_.parameters(), c)) {
    return multiply_constant_raw(many, c, 1.0);
  }
  if (mode_ == maintenance::manual)
    return multiply_constant_raw(many, c, ctx_.parameters().level(a.level).scale);
  require_level(a, "multiply by a constant");
  const double scale = matching_plain_scale(ctx_.parameters(), a.level, a.scale);
  return rescale(pointers(multiply_constant_raw(many, c, scale)));
}

ciphertext evaluator::multiply_constant_raw(const ciphertext& a, std::complex<double> c, double scale) {
  const ciphertext* const one[] = {&a};
  return only(multiply_constant_raw(one, c, scale));
}

std::vector<ciphertext> evaluator::multiply_constant_raw(ciphertext_span many, std::complex<double> c,
                                                         double scale) {
  const backend::scoped_operation named("multiply_constant");
  require_alike(ctx_, many, "multiply_constant");
  const ciphertext& a = *many.front();
  require_room(ctx_.parameters(), a.level, c, scale, "multiply");
  if (!has_residues(ctx_.parameters(), c)) {
    std::vector<ciphertext> results;
    const std::vector<std::complex<double>> values(a.slots, c);
    const plaintext encoded = encoder_.encode(values, a.level, scale, a.slots);
    for (const ciphertext* each : many) results.push_back(multiply_plain(*each, encoded));
    return results;
  }
  return times_integer(ctx_, many, a.level, a.scale * scale, scaled(c, scale));
}

ciphertext evaluator::multiply_by_i(const ciphertext& a) { return multiply_constant(a, {0.0, 1.0}); }

}  // namespace halocline::ckks
