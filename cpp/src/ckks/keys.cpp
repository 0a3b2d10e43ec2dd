// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/keys.hpp"

#include <sodium.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "ckks/small_poly.hpp"
#include "halocline/arith/arith.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/ring/automorphism.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using backend::limb_view;
using memory::object_class;

/// Key of the hash that makes a seed of s.
constexpr std::string_view sparse_label = "halocline sparse secret of encapsulation, 1";

window chain_window(const params::parameters& parameters) {
  const window all = parameters.all_window();
  return {parameters.special_count(), all.count - parameters.special_count()};
}

/// Constants of one digit: what its error and its gadget are multiplied by.
struct gadget_factors {
  std::vector<std::uint64_t> one;      ///< for every limb, in order; empty for plain residues
  std::vector<std::uint64_t> special;  ///< P, for the limbs of the gadget
};

template <typename WordT>
gadget_factors make_factors(const params::parameters& parameters, const key_digit_layout& layout,
                            bool montgomery) {
  gadget_factors result;
  const auto primes = parameters.primes();
  const auto modulus = [&](std::uint32_t i) { return arith::make_modulus(static_cast<WordT>(primes[i])); };
  for (const window part : {layout.special, layout.chain}) {
    for (std::uint32_t i = part.first; montgomery && i < part.end(); ++i) result.one.push_back(modulus(i).r);
  }
  for (std::uint32_t i = layout.gadget.first; i < layout.gadget.end(); ++i) {
    const auto q = modulus(i);
    WordT product = montgomery ? q.r : WordT{1};
    for (std::uint32_t k = layout.special.first; k < layout.special.end(); ++k) {
      product = arith::mul_mod(product, static_cast<WordT>(primes[k] % primes[i]), q);
    }
    result.special.push_back(product);
  }
  return result;
}

/// One digit that is to be made.
struct digit_recipe {
  key_digit_layout layout;
  limb_view target;  ///< secret that the key switches to, on all limbs of the digit
  limb_view source;  ///< secret that it switches from, on the limbs of the gadget
  bool montgomery;
};

/// Scratch that digits on the same limbs share.
struct digit_scratch {
  digit_scratch(context& ctx, const key_digit_layout& layout, bool seeded)
      : error(ctx.ring(), layout.special, layout.chain, object_class::scratch, "keys.error", true) {
    if (seeded) {
      unkept = ring::poly(ctx.ring(), layout.special, layout.chain, object_class::scratch, "keys.uniform");
    }
  }

  [[nodiscard]] bool fits(const key_digit_layout& layout) const noexcept {
    return error.special().primes == layout.special && error.chain().primes == layout.chain;
  }

  ring::poly error;
  ring::poly unkept;  ///< place of a where it is not kept, else empty
};

/// error = one * (error + P source on the limbs of the gadget).
void add_gadget(context& ctx, const digit_recipe& recipe, const ring::poly& error) {
  const params::parameters& parameters = ctx.parameters();
  const key_digit_layout& layout = recipe.layout;
  const gadget_factors factors = parameters.word_bits() == 32
                                     ? make_factors<std::uint32_t>(parameters, layout, recipe.montgomery)
                                     : make_factors<std::uint64_t>(parameters, layout, recipe.montgomery);
  const window digit = layout.gadget;
  const limb_view own = error.chain().slice(digit);
  const auto one = [&](const limb_view& view) {
    const auto begin = factors.one.begin() + view.limb;
    return std::vector<std::uint64_t>(begin, begin + view.primes.count);
  };
  const backend::linear_job with_source{
      own, own, recipe.source.slice(digit),
      recipe.montgomery ? one(own) : std::vector<std::uint64_t>(digit.count, 1), factors.special};
  ctx.device().linear_combine(ctx.tables(), {&with_source, 1});
  if (!recipe.montgomery) return;
  std::vector<backend::scalar_job> others;
  const limb_view chain = error.chain();
  const window before{chain.primes.first, digit.first - chain.primes.first};
  const window behind{digit.end(), chain.primes.end() - digit.end()};
  for (const limb_view& rest : {error.special(), chain.slice(before), chain.slice(behind)}) {
    if (rest.primes.count == 0) continue;
    backend::scalar_job job{rest, rest, {}};
    for (const std::uint64_t factor : one(rest)) job.scalars.push_back({factor, factor});
    others.push_back(std::move(job));
  }
  ctx.device().scalar_multiply(ctx.tables(), others);
}

/// b = one * (error + gadget) - a target, where the stored a is `one` times that of the encryption.
evaluation_key_digit make_digit(context& ctx, ring::random_source& random, const digit_recipe& recipe,
                                const digit_scratch& scratch, const backend::uniform_source& source) {
  const std::size_t bytes = recipe.layout.limbs() * ctx.tables().limb_bytes();
  evaluation_key_digit result;
  result.source = source;
  result.b = ctx.runtime().allocate(bytes, object_class::evaluation_key, "evaluation_key.b");
  if (!scratch.unkept) {
    result.a = ctx.runtime().allocate(bytes, object_class::evaluation_key, "evaluation_key.a");
  }
  const std::vector<limb_view> b = recipe.layout.views(result.b);
  const std::vector<limb_view> a = recipe.layout.views(scratch.unkept ? scratch.unkept.data() : result.a);
  const std::vector<limb_view> error = recipe.layout.views(scratch.error.data());
  std::vector<backend::uniform_job> uniform;
  std::vector<backend::binary_job> products;
  std::vector<backend::binary_job> differences;
  for (std::size_t i = 0; i < b.size(); ++i) {
    uniform.push_back({a[i], source});
    products.push_back({b[i], a[i], recipe.target.slice(b[i].primes)});
    differences.push_back({b[i], error[i], b[i]});
  }
  ctx.device().sample_uniform(ctx.tables(), uniform);
  draw_error(ctx, random, error);
  add_gadget(ctx, recipe, scratch.error);
  ctx.device().multiply(ctx.tables(), products);
  ctx.device().sub(ctx.tables(), differences);
  return result;
}

/// The key of a request: its digits in order, from one fresh seed.
evaluation_key make_key(context& ctx, ring::random_source& random, const key_request& request, key_id id,
                        const std::vector<digit_recipe>& recipes, bool seeded) {
  evaluation_key result;
  result.home = ctx.ring().home();
  result.galois_element = request.galois_element;
  result.level = request.level;
  result.id = id;
  const backend::seed_bytes seed = random.next_seed();
  std::optional<digit_scratch> scratch;
  for (std::uint32_t j = 0; j < recipes.size(); ++j) {
    if (!scratch || !scratch->fits(recipes[j].layout)) {
      scratch.reset();  // first, so that the memory never holds both
      scratch.emplace(ctx, recipes[j].layout, seeded);
    }
    result.digits.push_back(make_digit(ctx, random, recipes[j], *scratch, {seed, j}));
  }
  return result;
}

/// s(X^(1/g)) modulo `primes`. The permutation is not kept: a client needs it once.
ring::poly rotated_secret(context& ctx, const secret_key& secret, std::uint64_t galois_element,
                          window primes) {
  const unsigned log_n = ctx.parameters().log_n();
  const auto index =
      ring::automorphism_permutation(ring::inverse_galois_element(galois_element, log_n), log_n);
  const memory::buffer permutation =
      ctx.runtime().allocate(index.size() * sizeof(std::uint32_t), object_class::table, "keys.permutation");
  ctx.device().upload(permutation, 0, std::as_bytes(std::span(index)));
  ring::poly result(ctx.ring(), {}, primes, object_class::scratch, "keys.rotated_secret", true);
  const backend::automorphism_job job{result.chain(), secret_limbs(secret, primes), &permutation};
  ctx.device().automorphism(ctx.tables(), {&job, 1});
  return result;
}

ring::poly squared_secret(context& ctx, const secret_key& secret, window primes) {
  ring::poly result(ctx.ring(), {}, primes, object_class::scratch, "keys.squared_secret", true);
  const limb_view s = secret_limbs(secret, primes);
  const backend::binary_job job{result.chain(), s, s};
  ctx.device().multiply(ctx.tables(), {&job, 1});
  return result;
}

}  // namespace

std::size_t evaluation_key::bytes() const noexcept {
  std::size_t total = 0;
  for (const evaluation_key_digit& digit : digits) {
    total += digit.b.size() + (digit.a ? digit.a.size() : digit.source.seed.size());
  }
  return total;
}

secret_key key_generator::make_secret_key() {
  secret_key result = draw_secret(ctx_.parameters().secret(), random_);
  result.id = make_key_id(random_, ctx_.parameters());
  return result;
}

/// The sparse secret of encapsulation: from a generator that is seeded with a hash of s.
secret_key key_generator::derive_sparse(const secret_key& secret) {
  const params::secret_distribution sparse{params::secret_kind::sparse,
                                           ctx_.parameters().bootstrapping()->ephemeral_weight};
  if (ctx_.runtime().is_ghost()) return draw_secret(sparse, random_);
  small_coefficients host(ctx_.parameters().n());
  const std::span<std::byte> bytes = std::as_writable_bytes(host.values());
  ctx_.device().download(bytes, secret.coefficients, 0);
  backend::seed_bytes seed;
  crypto_generichash(seed.data(), seed.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size(), reinterpret_cast<const unsigned char*>(sparse_label.data()),
                     sparse_label.size());
  ring::random_source derived(seed);
  sodium_memzero(seed.data(), seed.size());
  return draw_secret(sparse, derived);
}

secret_key key_generator::draw_secret(const params::secret_distribution& distribution,
                                      ring::random_source& random) {
  const params::parameters& parameters = ctx_.parameters();
  constexpr const char* tag = "secret_key.coefficients";
  secret_key result;
  if (distribution.kind == params::secret_kind::sparse) {
    small_coefficients host(parameters.n());
    if (!ctx_.runtime().is_ghost()) {
      ring::sample_sparse_ternary(random, distribution.hamming_weight, host.values());
    }
    result.coefficients = upload_small(ctx_, host, tag);
  } else {
    result.coefficients = draw_ternary(ctx_, random, tag);
  }
  result.value = ring::poly(ctx_.ring(), parameters.special_window(), chain_window(parameters),
                            object_class::scratch, "secret_key.value", true);
  const limb_view limbs = secret_limbs(result, parameters.all_window());
  expand_small(ctx_, result.coefficients, {&limbs, 1});
  return result;
}

public_key key_generator::make_public_key(const secret_key& secret) {
  check_secret(ctx_, secret, "make_public_key");
  const window chain = chain_window(ctx_.parameters());
  public_key result;
  result.id = secret.id;
  result.seed = {random_.next_seed(), 0};
  result.a = ring::poly(ctx_.ring(), {}, chain, object_class::evaluation_key, "public_key.a");
  result.b = ring::poly(ctx_.ring(), {}, chain, object_class::evaluation_key, "public_key.b");
  const backend::uniform_job uniform{result.a.chain(), result.seed};
  ctx_.device().sample_uniform(ctx_.tables(), {&uniform, 1});
  const ring::poly error(ctx_.ring(), {}, chain, object_class::scratch, "keys.error", true);
  draw_error(ctx_, random_, error.chain());
  const backend::binary_job product{result.b.chain(), result.a.chain(), secret_limbs(secret, chain)};
  ctx_.device().multiply(ctx_.tables(), {&product, 1});
  const backend::binary_job difference{result.b.chain(), error.chain(), result.b.chain()};
  ctx_.device().sub(ctx_.tables(), {&difference, 1});
  return result;
}

evaluation_key key_generator::make_evaluation_key(const secret_key& secret, const key_request& request,
                                                  bool seeded) {
  check_secret(ctx_, secret, "make_evaluation_key");
  if (request.galois_element == encapsulation_element) return make_encapsulation_key(secret, request, seeded);
  if (raised_rotation_of(ctx_.parameters(), request.galois_element)) {
    return make_raised_key(secret, request, seeded);
  }
  const std::vector<key_digit_layout> layouts = key_layout(ctx_.parameters(), request);
  const window chain = layouts.front().chain;
  const window limbs{0, layouts.front().limbs()};
  const bool relinearize = request.galois_element == relinearization_element;
  const ring::poly derived = relinearize ? squared_secret(ctx_, secret, chain)
                                         : rotated_secret(ctx_, secret, request.galois_element, limbs);
  const limb_view target = relinearize ? secret_limbs(secret, limbs) : derived.chain();
  const limb_view source = relinearize ? derived.chain() : secret_limbs(secret, chain);
  std::vector<digit_recipe> recipes;
  for (const key_digit_layout& layout : layouts) recipes.push_back({layout, target, source, true});
  return make_key(ctx_, random_, request, secret.id, recipes, seeded);
}

evaluation_key key_generator::make_encapsulation_key(const secret_key& secret, const key_request& request,
                                                     bool seeded) {
  const params::parameters& parameters = ctx_.parameters();
  const std::vector<key_digit_layout> layouts = key_layout(parameters, request);
  const secret_key sparse = derive_sparse(secret);
  const limb_view dense_limbs = secret_limbs(secret, parameters.all_window());
  const limb_view sparse_limbs = secret_limbs(sparse, parameters.all_window());
  std::vector<digit_recipe> recipes;
  for (const key_digit_layout& layout : layouts) {
    recipes.push_back({layout, sparse_limbs, dense_limbs, false});
  }
  // The last digit leads back.
  std::swap(recipes.back().target, recipes.back().source);
  return make_key(ctx_, random_, request, secret.id, recipes, seeded);
}

evaluation_key key_generator::make_raised_key(const secret_key& secret, const key_request& request,
                                              bool seeded) {
  const params::parameters& parameters = ctx_.parameters();
  const key_digit_layout layout = key_layout(parameters, request).front();
  const window limbs{layout.special.first, layout.limbs()};
  const std::uint64_t element = *raised_rotation_of(parameters, request.galois_element);
  const secret_key sparse = derive_sparse(secret);
  const ring::poly rotated = rotated_secret(ctx_, secret, element, limbs);
  const limb_view source = secret_limbs(sparse, parameters.all_window());
  return make_key(ctx_, random_, request, secret.id, {{layout, rotated.chain(), source, true}}, seeded);
}

void expand(context& ctx, evaluation_key& key) {
  const std::vector<key_digit_layout> layouts = key_layout(ctx.parameters(), {key.galois_element, key.level});
  for (std::size_t j = 0; j < key.digits.size(); ++j) {
    evaluation_key_digit& digit = key.digits[j];
    if (digit.a) continue;
    digit.a = ctx.runtime().allocate(layouts[j].limbs() * ctx.tables().limb_bytes(),
                                     object_class::evaluation_key, "evaluation_key.a");
    std::vector<backend::uniform_job> jobs;
    for (const limb_view& view : layouts[j].views(digit.a)) jobs.push_back({view, digit.source});
    ctx.device().sample_uniform(ctx.tables(), jobs);
  }
}

evaluation_key transfer(const evaluation_key& source, context& to) {
  HALOCLINE_EXPECTS(source.home.get() != nullptr, invalid_argument,
                    "transfer: an evaluation key without contents; make one with a client, or read one");
  const auto copy = [&](const memory::buffer& data, const char* tag) {
    memory::buffer result = to.runtime().allocate(data.size(), object_class::evaluation_key, tag);
    transfer_bytes(*source.home.get(), data, to, result);
    return result;
  };
  evaluation_key result;
  result.home = to.ring().home();
  result.galois_element = source.galois_element;
  result.level = source.level;
  result.id = source.id;
  for (const evaluation_key_digit& digit : source.digits) {
    evaluation_key_digit target;
    target.b = copy(digit.b, "evaluation_key.b");
    if (digit.a) target.a = copy(digit.a, "evaluation_key.a");
    target.source = digit.source;
    result.digits.push_back(std::move(target));
  }
  return result;
}

}  // namespace halocline::ckks
