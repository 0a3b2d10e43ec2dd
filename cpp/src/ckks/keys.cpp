// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/keys.hpp"

#include <algorithm>
#include <utility>

#include "ckks/small_poly.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/ring/arith.hpp"
#include "halocline/ring/automorphism.hpp"

namespace halocline::ckks {
namespace {

using backend::limb_view;
using backend::window;
using memory::object_class;

window chain_window(const params::parameters& parameters) {
  const window all = parameters.all_window();
  return {parameters.special_count(), all.count - parameters.special_count()};
}

/// Constants that bring an error and the gadget into Montgomery form: 2^w and 2^w P modulo each of the first
/// primes.
struct gadget_factors {
  std::vector<std::uint64_t> one;
  std::vector<std::uint64_t> special;
};

template <typename WordT>
gadget_factors make_factors(const params::parameters& parameters, unsigned limbs) {
  gadget_factors result;
  const auto primes = parameters.primes();
  for (unsigned i = 0; i < limbs; ++i) {
    const auto q = ring::make_modulus(static_cast<WordT>(primes[i]));
    WordT product = q.r;
    for (unsigned k = 0; k < parameters.special_count(); ++k) {
      product = ring::mul_mod(product, static_cast<WordT>(primes[k] % primes[i]), q);
    }
    result.one.push_back(q.r);
    result.special.push_back(product);
  }
  return result;
}

/// Everything that the digits of one key share.
struct digit_recipe {
  limb_view target;   ///< secret that the key switches to, on all limbs of the key
  limb_view source;   ///< secret that it switches from; the digits take their part of it
  limb_view error;    ///< scratch for a digit's error
  limb_view scratch;  ///< place of a when it is not kept
  gadget_factors factors;
};

/// error = 2^w (error + P source on the limbs of the digit).
void add_gadget(context& ctx, const digit_recipe& recipe, window digit) {
  const auto part = [](const std::vector<std::uint64_t>& values, window primes) {
    return std::vector<std::uint64_t>(values.begin() + primes.first, values.begin() + primes.end());
  };
  const limb_view own = recipe.error.slice(digit);
  const backend::linear_job with_source{own, own, recipe.source.slice(digit), part(recipe.factors.one, digit),
                                        part(recipe.factors.special, digit)};
  ctx.device().linear_combine(ctx.tables(), {&with_source, 1});
  std::vector<backend::scalar_job> others;
  for (const window rest :
       {window{0, digit.first}, window{digit.end(), recipe.error.primes.end() - digit.end()}}) {
    if (rest.count == 0) continue;
    backend::scalar_job job{recipe.error.slice(rest), recipe.error.slice(rest), {}};
    for (const std::uint64_t factor : part(recipe.factors.one, rest)) job.scalars.push_back({factor, factor});
    others.push_back(std::move(job));
  }
  ctx.device().scalar_multiply(ctx.tables(), others);
}

/// b = 2^w (error + gadget) - a target, where the stored a is 2^w times that of the encryption.
evaluation_key_digit make_digit(context& ctx, ring::random_source& random, const digit_recipe& recipe,
                                window digit, const backend::uniform_source& source, bool seeded) {
  const window limbs = recipe.error.primes;
  const std::size_t bytes = limbs.count * ctx.tables().limb_bytes();
  evaluation_key_digit result;
  result.source = source;
  result.b = ctx.runtime().allocate(bytes, object_class::evaluation_key, "evaluation_key.b");
  if (!seeded) result.a = ctx.runtime().allocate(bytes, object_class::evaluation_key, "evaluation_key.a");
  const limb_view b{&result.b, 0, limbs};
  const limb_view a = seeded ? recipe.scratch : limb_view{&result.a, 0, limbs};
  const backend::uniform_job uniform{a, source};
  ctx.device().sample_uniform(ctx.tables(), {&uniform, 1});
  draw_error(ctx, random, recipe.error);
  add_gadget(ctx, recipe, digit);
  const backend::binary_job product{b, a, recipe.target};
  ctx.device().multiply(ctx.tables(), {&product, 1});
  const backend::binary_job difference{b, recipe.error, b};
  ctx.device().sub(ctx.tables(), {&difference, 1});
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

unsigned evaluation_key::limb_count(const params::parameters& parameters, unsigned level) {
  return parameters.key_limbs(level);
}

unsigned evaluation_key::digit_count(const params::parameters& parameters, unsigned level) {
  const unsigned limbs = parameters.key_limbs(level);
  unsigned count = 0;
  while (count < parameters.digit_count() && parameters.digit(count).first < limbs) ++count;
  return count;
}

secret_key key_generator::make_secret_key() {
  const params::parameters& parameters = ctx_.parameters();
  constexpr const char* tag = "secret_key.coefficients";
  secret_key result;
  if (parameters.secret().kind == params::secret_kind::sparse) {
    small_coefficients host(parameters.n());
    if (!ctx_.runtime().is_ghost()) {
      ring::sample_sparse_ternary(random_, parameters.secret().hamming_weight, host.values());
    }
    result.coefficients = upload_small(ctx_, host, tag);
  } else {
    result.coefficients = draw_ternary(ctx_, random_, tag);
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
  const params::parameters& parameters = ctx_.parameters();
  const unsigned limb_count = evaluation_key::limb_count(parameters, request.level);
  const window limbs{0, limb_count};
  const window chain{parameters.special_count(), limb_count - parameters.special_count()};
  const bool relinearize = request.galois_element == relinearization_element;
  const ring::poly derived = relinearize ? squared_secret(ctx_, secret, chain)
                                         : rotated_secret(ctx_, secret, request.galois_element, limbs);
  const ring::poly error(ctx_.ring(), {}, limbs, object_class::scratch, "keys.error", true);
  ring::poly uniform;
  if (seeded) uniform = ring::poly(ctx_.ring(), {}, limbs, object_class::scratch, "keys.uniform");
  digit_recipe recipe;
  recipe.target = relinearize ? secret_limbs(secret, limbs) : derived.chain();
  recipe.source = relinearize ? derived.chain() : secret_limbs(secret, chain);
  recipe.error = error.chain();
  recipe.scratch = uniform.chain();
  recipe.factors = parameters.word_bits() == 32 ? make_factors<std::uint32_t>(parameters, limb_count)
                                                : make_factors<std::uint64_t>(parameters, limb_count);
  evaluation_key result;
  result.galois_element = request.galois_element;
  result.level = request.level;
  const backend::seed_bytes seed = random_.next_seed();
  for (unsigned j = 0; j < evaluation_key::digit_count(parameters, request.level); ++j) {
    window digit = parameters.digit(j);
    digit.count = std::min(digit.count, limb_count - digit.first);
    result.digits.push_back(make_digit(ctx_, random_, recipe, digit, {seed, j}, seeded));
  }
  return result;
}

void expand(context& ctx, evaluation_key& key) {
  const window limbs{0, evaluation_key::limb_count(ctx.parameters(), key.level)};
  for (evaluation_key_digit& digit : key.digits) {
    if (digit.a) continue;
    digit.a = ctx.runtime().allocate(limbs.count * ctx.tables().limb_bytes(), object_class::evaluation_key,
                                     "evaluation_key.a");
    const backend::uniform_job job{{&digit.a, 0, limbs}, digit.source};
    ctx.device().sample_uniform(ctx.tables(), {&job, 1});
  }
}

evaluation_key transfer(context& from, const evaluation_key& source, context& to) {
  const auto copy = [&](const memory::buffer& data, const char* tag) {
    memory::buffer result = to.runtime().allocate(data.size(), object_class::evaluation_key, tag);
    transfer_bytes(from, data, to, result);
    return result;
  };
  evaluation_key result;
  result.galois_element = source.galois_element;
  result.level = source.level;
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
