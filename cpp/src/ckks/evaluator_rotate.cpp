// SPDX-License-Identifier: Apache-2.0
// Rotations and conjugation. The automorphism is applied to the products with the key, so that one
// decomposition serves any number of rotations of the same ciphertext, and no pass over the result is needed.
#include <algorithm>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "ckks/joined_calls.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_up.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;

void require_rotatable(const ciphertext& a, const char* operation) {
  HALOCLINE_EXPECTS(a.parts.size() == 2, invalid_argument, operation, ": the ciphertext has ", a.parts.size(),
                    " components; relinearize it first");
}

/// X -> X^element of a ciphertext.
struct turn {
  std::uint64_t element;
  key_id key;  ///< the secret key of the result
};

/// The turns of `a`, where `extended` are the products of its second component with their keys, turned.
std::vector<ciphertext> finish_turns(context& ctx, const ciphertext& a, std::span<const poly_pair> extended,
                                     std::span<const turn> turns) {
  std::vector<std::vector<ring::poly>> switched = finish_switch(ctx, extended, a.level, a.level);
  std::vector<ciphertext> results(turns.size());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    results[i].parts = std::move(switched[i]);
    results[i].level = a.level;
    results[i].scale = a.scale;
    results[i].slots = a.slots;
    results[i].key = turns[i].key;
  }
  return results;
}

/// How many of these products of one level are made, divided and turned together: as many as a call takes
/// keys. One within a budget, as what comes of each of them is live until all are divided.
std::size_t joined_rotations(const context& ctx, std::span<const joined_product> products, unsigned level) {
  if (ctx.joining_budget() != 0) return 1;
  const params::parameters& parameters = ctx.parameters();
  const std::size_t limbs = parameters.special_count() + std::size_t{parameters.level(level).q.count};
  std::vector<std::size_t> bytes;
  for (const joined_product& each : products) {
    bytes.push_back(bytes_of(*each.key, each.digits->numbers) + 4 * limbs * ctx.tables().limb_bytes());
  }
  return products_per_call(ctx, 0, bytes);
}

/// X -> X^element of `a`, for one element only.
ciphertext apply_galois_once(context& ctx, key_set& keys, const ciphertext& a, std::uint64_t element,
                             const char* operation = "rotate") {
  key_id secret = a.key;
  const evaluation_key& key = matching_key(keys, element, a.level, secret, operation);
  const arith::window special = ctx.parameters().special_window(), chain = part(a, 1).primes;
  const poly_pair extended =
      make_pair(ctx, special, chain, memory::object_class::scratch, "key_switch.product");
  const switch_term term{&key, element};
  switch_sum(ctx, {part(a, 1), part(a, 0)}, {&term, 1}, extended, false);
  const turn one{element, secret};
  return only(finish_turns(ctx, a, std::span(&extended, 1), std::span(&one, 1)));
}

std::vector<ciphertext> one_turn(context& ctx, key_set& keys, const ciphertext& a, std::uint64_t element) {
  std::vector<ciphertext> result;
  result.push_back(apply_galois_once(ctx, keys, a, element));
  return result;
}

}  // namespace

evaluator::evaluator(ckks::context& ctx, key_set& keys, maintenance mode)
    : ctx_(ctx), keys_(keys), mode_(mode), encoder_(ctx) {}

ciphertext evaluator::rotate(const ciphertext& a, std::int64_t steps) {
  const backend::scoped_operation named("rotate");
  const std::uint64_t element = ctx_.parameters().galois_element(steps);
  ++lone_rotations_[element];
  const auto route = follows_routes_ ? routes_.find(element) : routes_.end();
  if (route == routes_.end()) return std::move(rotate_hoisted(a, {&steps, 1}).front());
  check(ctx_, a, "rotate");
  require_rotatable(a, "rotate");
  ciphertext result;
  for (const std::uint64_t part_element : route->second) {
    const ciphertext& source = result.parts.empty() ? a : result;
    result = apply_galois_once(ctx_, keys_, source, part_element);
  }
  return result;
}

void evaluator::set_routes(key_routes routes) {
  check_routes(ctx_.parameters(), routes);
  std::map<std::uint64_t, unsigned> levels;
  for (const key_request& each : keys_.list()) levels[each.galois_element] = each.level;
  for (const auto& [element, parts] : routes) {
    const auto replaced = levels.find(element);
    const unsigned level = replaced == levels.end() ? 0 : replaced->second;
    for (const std::uint64_t part_element : parts) {
      HALOCLINE_EXPECTS(keys_.contains(part_element, level), invalid_argument, "routes: the ",
                        describe_key(ctx_.parameters(), part_element), " for level ", level, ", a part of ",
                        element, ", is missing; add it or leave the route out");
    }
  }
  routes_ = std::move(routes);
}

std::vector<ciphertext> evaluator::rotate_hoisted(const ciphertext& a, std::span<const std::int64_t> steps) {
  const backend::scoped_operation named("rotate_many");
  check(ctx_, a, "rotate");
  require_rotatable(a, "rotate");
  std::vector<ciphertext> results(steps.size());
  std::vector<std::size_t> places;  // of the rotations among the results
  std::vector<turn> turns;
  std::vector<joined_product> products;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint64_t element = ctx_.parameters().galois_element(steps[i]);
    if (element == 1) continue;
    if (steps.size() == 1) return one_turn(ctx_, keys_, a, element);
    places.push_back(i);
    key_id& secret = turns.emplace_back(turn{element, a.key}).key;
    products.push_back({nullptr, &matching_key(keys_, element, a.level, secret, "rotate")});
    product_options& options = products.back().options;
    options.plus0 = part(a, 0);
    options.galois_element = element;
  }
  if (!products.empty()) {
    const rns::raised_digits digits = rns::mod_up(ctx_.ring(), ctx_.converter(), part(a, 1));
    for (joined_product& each : products) each.digits = &digits;
    for (std::size_t done = 0; done < products.size();) {
      const std::span<joined_product> rest = std::span(products).subspan(done);
      const std::size_t count = joined_rotations(ctx_, rest, a.level);
      key_products(ctx_, rest.first(count));
      std::vector<poly_pair> extended;
      for (joined_product& each : rest.first(count)) extended.push_back(std::move(each.total));
      std::vector<ciphertext> turned = finish_turns(ctx_, a, extended, std::span(turns).subspan(done, count));
      for (std::size_t i = 0; i < count; ++i) results[places[done + i]] = std::move(turned[i]);
      done += count;
    }
  }
  for (ciphertext& each : results) {
    if (each.parts.empty()) each = clone(ctx_, a);
  }
  return results;
}

ciphertext evaluator::conjugate(const ciphertext& a) {
  const backend::scoped_operation named("conjugate");
  check(ctx_, a, "conjugate");
  require_rotatable(a, "conjugate");
  return apply_galois_once(ctx_, keys_, a, ctx_.parameters().conjugation_element(), "conjugate");
}

ciphertext evaluator::inner_sum(const ciphertext& a, std::int64_t stride, std::uint32_t count) {
  const backend::scoped_operation named("inner_sum");
  check(ctx_, a, "inner_sum");
  HALOCLINE_EXPECTS(count > 0, invalid_argument, "inner_sum: count must be positive");
  // `block` sums 2^k neighbours; the binary digits of count say which blocks make up the sum.
  ciphertext block = clone(ctx_, a);
  std::int64_t block_length = 1;
  std::int64_t done = 0;
  ciphertext sum;
  for (std::uint32_t rest = count; rest != 0; rest >>= 1) {
    if (rest & 1) {
      ciphertext shifted = done == 0 ? clone(ctx_, block) : rotate(block, done * stride);
      sum = done == 0 ? std::move(shifted) : add(sum, shifted);
      done += block_length;
    }
    if (rest > 1) {
      block = add(block, rotate(block, block_length * stride));
      block_length *= 2;
    }
  }
  return sum;
}

}  // namespace halocline::ckks
