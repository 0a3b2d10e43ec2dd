// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/decryptor.hpp"
#include "halocline/ckks/encoder.hpp"
#include "halocline/ckks/encryptor.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/key_set.hpp"
#include "halocline/ckks/precision.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::test {

using complex_vector = std::vector<std::complex<double>>;

/// One seed for everything random in a test; printed on failure by `SCOPED_TRACE(rig.describe())`.
inline constexpr std::uint8_t test_seed = 7;

/// Parameters, keys and all client and server objects of one preset in one context.
struct ckks_rig {
  explicit ckks_rig(const std::string& preset, const std::vector<std::int64_t>& rotations = {})
      : ckks_rig(params::preset(preset), rotations) {}
  explicit ckks_rig(const params::parameters& parameters, const std::vector<std::int64_t>& rotations = {})
      // One thread: test programs may run side by side, and results do not depend on the number of threads.
      : ctx(ckks::make_context(parameters, backend::make_backend("cpu", {.memory = {}, .threads = 1}))),
        random(backend::seed_bytes{test_seed}),
        generator(*ctx, random),
        secret(generator.make_secret_key()),
        keys(ctx->parameters()),
        encoder(*ctx),
        encryptor(*ctx, random),
        decryptor(*ctx, random),
        eval(*ctx, keys) {
    add_key(ckks::relinearization_element);
    add_key(ctx->parameters().conjugation_element());
    for (const std::int64_t step : rotations) add_key(ctx->parameters().galois_element(step));
  }

  void add_key(std::uint64_t element) { keys.add(generator.make_evaluation_key(secret, {element, top()})); }
  [[nodiscard]] const params::parameters& parameters() const { return ctx->parameters(); }
  [[nodiscard]] unsigned top() const { return parameters().max_level(); }
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(parameters().slots()); }

  /// Uniform values in the square [-1, 1] + [-1, 1] i.
  [[nodiscard]] complex_vector random_values(std::uint32_t count, std::uint32_t seed) const {
    std::mt19937_64 random_engine(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    complex_vector values(count);
    for (auto& value : values) value = {uniform(random_engine), uniform(random_engine)};
    return values;
  }

  [[nodiscard]] ckks::ciphertext encrypt(const complex_vector& values, unsigned level) {
    const double scale = parameters().level(level).scale;
    return encryptor.encrypt(encoder.encode(values, level, scale), secret);
  }
  [[nodiscard]] ckks::ciphertext encrypt(const complex_vector& values) { return encrypt(values, top()); }
  [[nodiscard]] complex_vector decrypt(const ckks::ciphertext& value) {
    return decryptor.decrypt_values(value, secret, encoder);
  }
  [[nodiscard]] ckks::precision_stats precision(const ckks::ciphertext& value,
                                                const complex_vector& expected) {
    return ckks::measure_precision(decrypt(value), expected);
  }
  [[nodiscard]] std::string describe() const {
    return parameters().name() + " seed " + std::to_string(test_seed);
  }

  std::shared_ptr<ckks::context> ctx;
  ring::random_source random;
  ckks::key_generator generator;
  ckks::secret_key secret;
  ckks::memory_key_set keys;
  ckks::encoder encoder;
  ckks::encryptor encryptor;
  ckks::decryptor decryptor;
  ckks::evaluator eval;
};

}  // namespace halocline::test
