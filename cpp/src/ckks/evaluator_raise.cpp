// SPDX-License-Identifier: Apache-2.0
// ModRaise, with sparse-secret encapsulation where the parameters have it (Bossuat, Troncoso-Pastoriza and
// Hubaux, ePrint 2022/024). All ciphertexts of a call go through each step together.
#include <optional>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"
#include "halocline/rns/raise.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;
using arith::window;
using backend::limb_view;
using memory::object_class;

void check_target(const params::parameters& parameters, unsigned level) {
  HALOCLINE_EXPECTS(
      parameters.bootstrapping().has_value(), invalid_argument, "mod_raise: parameters \"", parameters.name(),
      "\" have no levels for bootstrapping; expected a set that has, such as the preset n16-boot");
  HALOCLINE_EXPECTS(parameters.has_level(level) && parameters.level(level).use != params::level_use::message,
                    invalid_argument, "mod_raise: level ", level,
                    " requested; expected one of the levels that only bootstrapping "
                    "uses, ",
                    parameters.max_level() + 1, "..", parameters.top_level());
}

/// One half of a digit of the key as polynomials see it, on the limbs of `chain` only.
struct key_half {
  const memory::buffer* data = nullptr;
  memory::buffer expanded;  ///< scratch, where the key keeps its seed only
  key_digit_layout layout;

  [[nodiscard]] limb_view special() const { return layout_view(0, layout.special); }
  [[nodiscard]] limb_view chain(window part) const {
    return layout_view(layout.special.count, layout.chain).slice(part);
  }

 private:
  [[nodiscard]] limb_view layout_view(std::uint32_t limb, window primes) const {
    return {data != nullptr ? data : &expanded, limb, primes};
  }
};

struct key_halves {
  key_half b;
  key_half a;
};

/// Digit j of the encapsulation key.
key_halves open_digit(context& ctx, const evaluation_key& key, std::size_t j) {
  const evaluation_key_digit& digit = key.digits[j];
  const key_digit_layout layout = key_layout(ctx.parameters(), {key.galois_element, key.level})[j];
  key_halves result{{&digit.b, {}, layout}, {digit.a ? &digit.a : nullptr, {}, layout}};
  if (digit.a) return result;
  result.a.expanded = ctx.runtime().allocate(digit.b.size(), object_class::scratch, "mod_raise.uniform");
  std::vector<backend::uniform_job> jobs;
  for (const limb_view& view : layout.views(result.a.expanded)) jobs.push_back({view, digit.source});
  ctx.device().sample_uniform(ctx.tables(), jobs);
  return result;
}

using pairs = std::vector<poly_pair>;

pairs make_pairs(context& ctx, std::size_t count, window special, window chain) {
  pairs result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back({{ctx.ring(), special, chain, object_class::scratch, "mod_raise.product"},
                      {ctx.ring(), special, chain, object_class::scratch, "mod_raise.product"}});
  }
  return result;
}

/// products.first += P * plus on the chain, P the product of their special primes; then both halves of all
/// products are divided by P.
pairs finish(context& ctx, const pairs& products, const std::vector<limb_view>& plus, object_class cls,
             const char* tag) {
  const window special = products.front().first.special().primes;
  const window chain = products.front().first.chain().primes;
  const std::vector<std::uint64_t> factor = rns::product_of(ctx.ring(), special, chain);
  std::vector<backend::linear_job> jobs;
  std::vector<const ring::poly*> halves;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const limb_view sum = products[i].first.chain();
    jobs.push_back({sum, sum, plus[i], std::vector<std::uint64_t>(chain.count, 1), factor});
    halves.push_back(&products[i].first);
    halves.push_back(&products[i].second);
  }
  ctx.device().linear_combine(ctx.tables(), jobs);
  std::vector<ring::poly> divided =
      rns::divide(ctx.ring(), ctx.converter(), {special, chain, chain, {}}, halves, cls, tag);
  pairs result;
  for (std::size_t i = 0; i < divided.size(); i += 2) {
    result.push_back({std::move(divided[i]), std::move(divided[i + 1])});
  }
  return result;
}

/// The ciphertexts, at level 0, under the sparse secret.
pairs to_sparse(context& ctx, const std::vector<const ciphertext*>& sources, const evaluation_key& key) {
  const window special = ctx.parameters().encapsulation()->to_sparse;
  const window base = ctx.parameters().level(0).q;
  std::vector<limb_view> parts;
  std::vector<limb_view> plus;
  for (const ciphertext* each : sources) {
    plus.push_back(part(*each, 0));
    for (std::uint32_t i = base.first; i < base.end(); ++i) parts.push_back(part(*each, 1).slice({i, 1}));
  }
  const std::vector<ring::poly> digits = rns::raise(ctx.ring(), ctx.converter(), parts, {special, base},
                                                    object_class::scratch, "mod_raise.digit");
  std::vector<key_halves> keys;
  for (std::uint32_t j = 0; j < base.count; ++j) keys.push_back(open_digit(ctx, key, j));
  const pairs products = make_pairs(ctx, sources.size(), special, base);
  std::vector<backend::dot_job> jobs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const bool first : {true, false}) {
      const ring::poly& sum = first ? products[i].first : products[i].second;
      backend::dot_job on_special{sum.special(), {}, {}};
      backend::dot_job on_chain{sum.chain(), {}, {}};
      for (std::uint32_t j = 0; j < base.count; ++j) {
        const key_half& half = first ? keys[j].b : keys[j].a;
        const ring::poly& digit = digits[i * base.count + j];
        on_special.a.push_back(digit.special());
        on_special.b.push_back(half.special());
        on_chain.a.push_back(digit.chain());
        on_chain.b.push_back(half.chain(base));
      }
      jobs.push_back(std::move(on_special));
      jobs.push_back(std::move(on_chain));
    }
  }
  ctx.device().dot(ctx.tables(), jobs);
  return finish(ctx, products, plus, object_class::scratch, "mod_raise.sparse");
}

/// Raises pairs under the sparse secret and switches them to the main one.
pairs raise_to_dense(context& ctx, const pairs& sparse, const evaluation_key& key, window chain) {
  const window special = ctx.parameters().encapsulation()->to_dense;
  std::vector<limb_view> firsts;
  std::vector<limb_view> seconds;
  for (const poly_pair& each : sparse) {
    firsts.push_back(each.first.chain());
    seconds.push_back(each.second.chain());
  }
  const std::vector<ring::poly> constant =
      rns::raise(ctx.ring(), ctx.converter(), firsts, {{}, chain}, object_class::scratch, "mod_raise.raised");
  const std::vector<ring::poly> linear = rns::raise(ctx.ring(), ctx.converter(), seconds, {special, chain},
                                                    object_class::scratch, "mod_raise.raised");
  const key_halves halves = open_digit(ctx, key, key.digits.size() - 1);
  const pairs products = make_pairs(ctx, sparse.size(), special, chain);
  std::vector<backend::binary_job> jobs;
  std::vector<limb_view> plus;
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    for (const bool first : {true, false}) {
      const ring::poly& product = first ? products[i].first : products[i].second;
      const key_half& half = first ? halves.b : halves.a;
      jobs.push_back({product.special(), linear[i].special(), half.special()});
      jobs.push_back({product.chain(), linear[i].chain(), half.chain(chain)});
    }
    plus.push_back(constant[i].chain());
  }
  ctx.device().multiply(ctx.tables(), jobs);
  return finish(ctx, products, plus, object_class::ciphertext, ciphertext_tag);
}

/// Both components raised as they are, under the secret that they have.
pairs raise_plainly(context& ctx, const std::vector<const ciphertext*>& sources, window chain) {
  std::vector<limb_view> parts;
  for (const ciphertext* each : sources) {
    parts.push_back(part(*each, 0));
    parts.push_back(part(*each, 1));
  }
  std::vector<ring::poly> raised =
      rns::raise(ctx.ring(), ctx.converter(), parts, {{}, chain}, object_class::ciphertext, ciphertext_tag);
  pairs result;
  for (std::size_t i = 0; i < raised.size(); i += 2) {
    result.push_back({std::move(raised[i]), std::move(raised[i + 1])});
  }
  return result;
}

}  // namespace

ciphertext evaluator::mod_raise(const ciphertext& a, unsigned level) {
  const ciphertext* const one = &a;
  return std::move(mod_raise(std::span(&one, 1), level).front());
}

namespace {

/// Ciphertexts at level 0, and what results inherit of them.
struct lowered_inputs {
  std::vector<std::optional<ciphertext>> copies;
  std::vector<const ciphertext*> sources;
  std::vector<key_id> keys;
};

/// Checks the operands and brings them down to level 0.
lowered_inputs lower(evaluator& eval, std::span<const ciphertext* const> many, unsigned level) {
  const params::parameters& parameters = eval.context().parameters();
  check_target(parameters, level);
  lowered_inputs result;
  result.copies.resize(many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    check(eval.context(), *many[i], "mod_raise");
    HALOCLINE_EXPECTS(many[i]->parts.size() == 2, invalid_argument, "mod_raise: the ciphertext has ",
                      many[i]->parts.size(), " components; relinearize it first");
    if (many[i]->level > 0) result.copies[i] = eval.adjust(*many[i], 0, parameters.level(0).scale);
    result.sources.push_back(result.copies[i] ? &*result.copies[i] : many[i]);
    result.keys.push_back(result.sources.back()->key);
  }
  return result;
}

/// The encapsulation key, whose identifier is checked against those of the operands.
const evaluation_key& encapsulation_key(key_set& keys, unsigned level, std::vector<key_id>& found) {
  const evaluation_key& key = keys.get(encapsulation_element, level);
  for (key_id& each : found) {
    each = common_key(each, key.id, "mod_raise", "the ciphertext", "the evaluation key");
  }
  return key;
}

}  // namespace

std::vector<ciphertext> evaluator::mod_raise(std::span<const ciphertext* const> many, unsigned level) {
  const backend::scoped_operation named("mod_raise");
  lowered_inputs inputs = lower(*this, many, level);
  if (inputs.sources.empty()) return {};
  const window chain = ctx_.parameters().level(level).q;
  pairs raised;
  if (ctx_.parameters().encapsulation()) {
    const evaluation_key& key = encapsulation_key(keys_, level, inputs.keys);
    raised = raise_to_dense(ctx_, to_sparse(ctx_, inputs.sources, key), key, chain);
  } else {
    raised = raise_plainly(ctx_, inputs.sources, chain);
  }
  std::vector<ciphertext> results(raised.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].key = inputs.keys[i];
    results[i].parts.push_back(std::move(raised[i].first));
    results[i].parts.push_back(std::move(raised[i].second));
    results[i].level = level;
    results[i].scale = inputs.sources[i]->scale;
    results[i].slots = inputs.sources[i]->slots;
  }
  return results;
}

std::vector<raised_ciphertext> evaluator::raise_sparse(std::span<const ciphertext* const> many,
                                                       unsigned level) {
  const backend::scoped_operation named("mod_raise");
  const params::parameters& parameters = ctx_.parameters();
  parameters.require_raised_keys("raise_sparse");
  lowered_inputs inputs = lower(*this, many, level);
  if (inputs.sources.empty()) return {};
  const pairs sparse = to_sparse(ctx_, inputs.sources, encapsulation_key(keys_, level, inputs.keys));
  std::vector<limb_view> firsts;
  std::vector<limb_view> seconds;
  for (const poly_pair& each : sparse) {
    firsts.push_back(each.first.chain());
    seconds.push_back(each.second.chain());
  }
  const window chain = parameters.level(level).q;
  const window scale = parameters.encapsulation()->raised_scale;
  const window special = parameters.encapsulation()->raised_special;
  constexpr const char* tag = "mod_raise.raised";
  std::vector<ring::poly> constant =
      rns::raise(ctx_.ring(), ctx_.converter(), firsts, {scale, chain}, object_class::scratch, tag);
  std::vector<ring::poly> linear =
      rns::raise(ctx_.ring(), ctx_.converter(), seconds,
                 {{special.first, special.count + scale.count}, chain}, object_class::scratch, tag);
  std::vector<raised_ciphertext> results(sparse.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = {std::move(constant[i]),   std::move(linear[i]),     level,
                  inputs.sources[i]->scale, inputs.sources[i]->slots, inputs.keys[i]};
  }
  return results;
}

}  // namespace halocline::ckks
