// SPDX-License-Identifier: Apache-2.0
// Rotations and conjugation. The automorphism is applied after the key switch, so that one decomposition
// serves any number of rotations of the same ciphertext.
#include <utility>

#include "ckks/evaluator_detail.hpp"
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

/// X -> X^element of `a`, where `extended` is the product of its second component with the key of the
/// element, and `key` the secret key of both.
ciphertext apply_galois(context& ctx, const ciphertext& a, const poly_pair& extended, std::uint64_t element,
                        const key_id& key) {
  const std::vector<ring::poly> switched = finish_switch(ctx, extended, a.level, a.level);
  ciphertext result;
  result.level = a.level;
  result.scale = a.scale;
  result.slots = a.slots;
  result.key = key;
  for (const ring::poly& each : switched) {
    result.parts.push_back(
        apply_automorphism(ctx, each, element, memory::object_class::ciphertext, ciphertext_tag));
  }
  return result;
}

/// X -> X^element of `a`, for one element only.
ciphertext apply_galois_once(context& ctx, key_set& keys, const ciphertext& a, std::uint64_t element,
                             const char* operation = "rotate") {
  key_id secret = a.key;
  const evaluation_key& key = matching_key(keys, element, a.level, secret, operation);
  return apply_galois(ctx, a, switch_product(ctx, part(a, 1), key, part(a, 0)), element, secret);
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
  const bool shared = steps.size() > 1;
  rns::raised_digits digits;
  std::vector<ciphertext> results;
  results.reserve(steps.size());
  for (const std::int64_t step : steps) {
    const std::uint64_t element = ctx_.parameters().galois_element(step);
    if (element == 1) {
      results.push_back(clone(ctx_, a));
      continue;
    }
    if (!shared) {
      results.push_back(apply_galois_once(ctx_, keys_, a, element));
      continue;
    }
    if (digits.digits.empty()) digits = rns::mod_up(ctx_.ring(), ctx_.converter(), part(a, 1));
    key_id secret = a.key;
    const evaluation_key& key = matching_key(keys_, element, a.level, secret, "rotate");
    const poly_pair extended = key_product(ctx_, digits, key, part(a, 0));
    results.push_back(apply_galois(ctx_, a, extended, element, secret));
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
