// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <complex>
#include <map>
#include <memory>
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
#include "halocline/params/presets.hpp"

namespace halocline::bench {

/// All objects of one preset with a given number of threads; made once per process.
struct ckks_bench_rig {
  ckks_bench_rig(const std::string& preset, unsigned threads)
      : ctx(ckks::make_context(params::preset(preset),
                               backend::make_backend("cpu", {.memory = {}, .threads = threads}))),
        random(backend::seed_bytes{1}),
        generator(*ctx, random),
        secret(generator.make_secret_key()),
        keys(ctx->parameters()),
        encoder(*ctx),
        encryptor(*ctx, random),
        decryptor(*ctx, random),
        eval(*ctx, keys) {
    const params::parameters& p = ctx->parameters();
    for (const std::uint64_t element : {ckks::relinearization_element, p.galois_element(1),
                                        p.galois_element(2), p.galois_element(4), p.conjugation_element()}) {
      keys.add(generator.make_evaluation_key(secret, {element, p.max_level()}));
    }
    values.resize(p.slots());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = {std::cos(static_cast<double>(i)), std::sin(2.0 * static_cast<double>(i))};
    }
  }

  [[nodiscard]] ckks::plaintext encode() {
    const unsigned level = ctx->parameters().max_level();
    return encoder.encode(values, level, ctx->parameters().level(level).scale);
  }
  [[nodiscard]] ckks::ciphertext encrypt() { return encryptor.encrypt(encode(), secret); }

  static ckks_bench_rig& get(const std::string& preset, unsigned threads) {
    static std::map<std::pair<std::string, unsigned>, std::unique_ptr<ckks_bench_rig>> rigs;
    auto& rig = rigs[{preset, threads}];
    if (!rig) rig = std::make_unique<ckks_bench_rig>(preset, threads);
    return *rig;
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
  std::vector<std::complex<double>> values;
};

}  // namespace halocline::bench
