// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/encryptor.hpp"

#include "ckks/small_poly.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using backend::limb_view;

/// Two uninitialised components that will carry the message.
ciphertext make_result(context& ctx, const plaintext& message) {
  const params::parameters& parameters = ctx.parameters();
  HALOCLINE_EXPECTS(message.value, invalid_argument, "encrypt: the plaintext is empty");
  HALOCLINE_EXPECTS(message.value.data().owner() == &ctx.runtime(), invalid_argument,
                    "encrypt: the plaintext belongs to another engine or client; encode it with this one");
  const arith::window q = parameters.level(message.level).q;
  HALOCLINE_EXPECTS(message.value.chain().primes == q, invalid_argument, "encrypt: the plaintext has ",
                    message.value.chain().primes.count, " primes; level ", message.level, " has ", q.count);
  ciphertext result;
  for (int i = 0; i < 2; ++i) {
    result.parts.push_back(ring::make_poly(ctx.ring(), q, memory::object_class::ciphertext, "ciphertext"));
  }
  result.level = message.level;
  result.scale = message.scale;
  result.slots = message.slots;
  return result;
}

}  // namespace

ciphertext encryptor::encrypt(const plaintext& message, const secret_key& secret) {
  check_secret(ctx_, secret, "encrypt");
  ciphertext result = make_result(ctx_, message);
  result.key = secret.id;
  const backend::ring_tables& tables = ctx_.tables();
  const limb_view c0 = result.parts[0].chain();
  const limb_view c1 = result.parts[1].chain();
  result.seed = backend::uniform_source{random_.next_seed(), 0};
  const backend::uniform_job uniform{c1, *result.seed};
  ctx_.device().sample_uniform(tables, {&uniform, 1});
  const ring::poly error(ctx_.ring(), {}, c0.primes, memory::object_class::scratch, "encryptor.error", true);
  draw_error(ctx_, random_, error.chain());
  const backend::binary_job masked{error.chain(), error.chain(), message.value.chain()};
  ctx_.device().add(tables, {&masked, 1});
  const backend::binary_job product{c0, c1, secret_limbs(secret, c0.primes)};
  ctx_.device().multiply(tables, {&product, 1});
  const backend::binary_job difference{c0, error.chain(), c0};
  ctx_.device().sub(tables, {&difference, 1});
  return result;
}

ciphertext encryptor::encrypt(const plaintext& message, const public_key& key) {
  HALOCLINE_EXPECTS(key.a && key.b, invalid_argument, "encrypt: the public key is empty");
  HALOCLINE_EXPECTS(key.a.data().owner() == &ctx_.runtime() && key.b.data().owner() == &ctx_.runtime(),
                    invalid_argument, "encrypt: the public key belongs to another engine or client");
  ciphertext result = make_result(ctx_, message);
  result.key = key.id;
  const backend::ring_tables& tables = ctx_.tables();
  const limb_view c0 = result.parts[0].chain();
  const limb_view c1 = result.parts[1].chain();
  HALOCLINE_EXPECTS(key.b.chain().primes == key.a.chain().primes &&
                        key.b.chain().primes.contains(c0.primes.first) &&
                        c0.primes.end() <= key.b.chain().primes.end(),
                    invalid_argument, "encrypt: the public key lacks primes of level ", message.level,
                    "; it was made for other parameters");
  const ring::poly mask(ctx_.ring(), {}, c0.primes, memory::object_class::scratch, "encryptor.mask", true);
  draw_mask(ctx_, random_, mask.chain());
  draw_error(ctx_, random_, c0);
  draw_error(ctx_, random_, c1);
  const backend::binary_job masked{c0, c0, message.value.chain()};
  ctx_.device().add(tables, {&masked, 1});
  const std::vector<backend::binary_job> products{{c0, mask.chain(), key.b.chain().slice(c0.primes)},
                                                  {c1, mask.chain(), key.a.chain().slice(c0.primes)}};
  ctx_.device().multiply_add(tables, products);
  return result;
}

}  // namespace halocline::ckks
