// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_set.hpp"
#include "halocline/ckks/plaintext.hpp"
#include "halocline/params/literal.hpp"
#include "halocline/params/parameters.hpp"
#include "support/container_samples.hpp"

/// Objects with the right shape and pseudo-random residues: what serialization sees of real ones,
/// reproducible and without a secret.
namespace halocline::test {

/// The smallest ring there is, insecure, with levels 0 to 2, two digits, and longer keys at level 2 than
/// below.
[[nodiscard]] inline params::literal tiny_literal(unsigned word_bits) {
  params::literal source;
  source.name = word_bits == 32 ? "tiny-32" : "tiny-64";
  source.log_n = 10;
  source.word_bits = word_bits;
  source.depth = 2;
  source.special_primes = 3;
  source.digit_size = 3;
  source.allow_insecure = true;
  if (word_bits == 64) {
    source.main_bits = 0;
    source.terminal_bits = 0;
    source.special_bits = 60;
  }
  return source;
}

[[nodiscard]] inline std::shared_ptr<ckks::context> tiny_context(unsigned word_bits = 32) {
  return ckks::make_context(params::parameters::from_literal(tiny_literal(word_bits)),
                            backend::make_backend("cpu"));
}

[[nodiscard]] inline backend::uniform_source sample_source(std::uint32_t stream) {
  backend::uniform_source source;
  source.seed.fill(0x5a);
  source.stream = stream;
  return source;
}

/// Uniform residues of a seeded stream.
[[nodiscard]] inline ring::poly sample_poly(ckks::context& ctx, arith::window special, arith::window chain,
                                            std::uint32_t stream) {
  ring::poly out(ctx.ring(), special, chain, memory::object_class::ciphertext, "sample");
  std::vector<backend::uniform_job> jobs;
  for (const backend::limb_view& view : out.views()) jobs.push_back({view, sample_source(stream)});
  ctx.device().sample_uniform(ctx.tables(), jobs);
  return out;
}

[[nodiscard]] inline ckks::plaintext sample_plaintext(ckks::context& ctx, unsigned level,
                                                      bool special = false) {
  ckks::plaintext out;
  const auto& parameters = ctx.parameters();
  out.value =
      sample_poly(ctx, special ? parameters.special_window() : arith::window{}, parameters.level(level).q, 1);
  out.level = level;
  out.scale = parameters.level(level).scale;
  out.slots = 16;
  return out;
}

[[nodiscard]] inline ckks::compact_plaintext sample_compact_plaintext(ckks::context& ctx) {
  ckks::compact_plaintext out;
  out.slots = 256;
  std::vector<std::int64_t> values(2 * std::size_t{out.slots});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i) - 5000;
  const auto bytes = std::as_bytes(std::span(values));
  out.coefficients = ctx.runtime().allocate(bytes.size(), memory::object_class::plaintext, "sample");
  ctx.device().upload(out.coefficients, 0, bytes);
  out.scale = 1024.5;
  return out;
}

/// `seeded` makes c_1 the expansion of a seed that the ciphertext keeps.
[[nodiscard]] inline ckks::ciphertext sample_ciphertext(ckks::context& ctx, unsigned level,
                                                        std::uint32_t parts, bool seeded) {
  ckks::ciphertext out;
  for (std::uint32_t i = 0; i < parts; ++i) {
    out.parts.push_back(sample_poly(ctx, {}, ctx.parameters().level(level).q, i));
  }
  out.level = level;
  out.scale = ctx.parameters().level(level).scale;
  out.slots = static_cast<std::uint32_t>(ctx.parameters().slots());
  out.key = sample_key_id();
  if (seeded) out.seed = sample_source(1);
  return out;
}

[[nodiscard]] inline ckks::public_key sample_public_key(ckks::context& ctx) {
  const unsigned special = ctx.parameters().special_count();
  const arith::window primes{special, ctx.parameters().prime_count() - special};
  return {sample_poly(ctx, {}, primes, 0), sample_poly(ctx, {}, primes, 1), sample_source(1),
          sample_key_id()};
}

/// Residues of one half of a digit: limb i belongs to prime i.
[[nodiscard]] inline memory::buffer sample_half(ckks::context& ctx, unsigned limbs, std::uint32_t stream) {
  memory::buffer out = ctx.runtime().allocate(limbs * ctx.parameters().limb_bytes(),
                                              memory::object_class::evaluation_key, "sample");
  const backend::uniform_job job{{&out, 0, {0, limbs}}, sample_source(stream)};
  ctx.device().sample_uniform(ctx.tables(), {&job, 1});
  return out;
}

[[nodiscard]] inline ckks::evaluation_key sample_key(ckks::context& ctx, std::uint64_t element,
                                                     unsigned level, bool seeded) {
  ckks::evaluation_key out;
  out.home = ctx.ring().home();
  out.galois_element = element;
  out.level = level;
  out.id = sample_key_id();
  const auto& parameters = ctx.parameters();
  const unsigned limbs = ckks::evaluation_key::limb_count(parameters, level);
  for (unsigned i = 0; i < ckks::evaluation_key::digit_count(parameters, level); ++i) {
    ckks::evaluation_key_digit& digit = out.digits.emplace_back();
    digit.source = sample_source(2 * i + 1);
    digit.b = sample_half(ctx, limbs, 2 * i);
    if (!seeded) digit.a = sample_half(ctx, limbs, 2 * i + 1);
  }
  return out;
}

/// Relinearization and conjugation key for the top level, one of them seeded, and a seeded rotation key for
/// level 0.
[[nodiscard]] inline ckks::memory_key_set sample_keys(ckks::context& ctx) {
  const auto& parameters = ctx.parameters();
  ckks::memory_key_set keys(parameters);
  keys.add(sample_key(ctx, ckks::relinearization_element, parameters.max_level(), true));
  keys.add(sample_key(ctx, parameters.galois_element(1), 0, true));
  keys.add(sample_key(ctx, parameters.conjugation_element(), parameters.max_level(), false));
  return keys;
}

[[nodiscard]] inline std::vector<std::byte> contents(ckks::context& ctx, const memory::buffer& data) {
  std::vector<std::byte> out(data.size());
  if (!out.empty()) ctx.device().download(out, data, 0);
  return out;
}

}  // namespace halocline::test
