// SPDX-License-Identifier: Apache-2.0
// Sampling, encryption, decryption and key generation at the highest level, one thread.
#include <benchmark/benchmark.h>

#include <string>

#include "ckks_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ckks_bench_rig;

void sample_gaussian(benchmark::State& state) {
  ring::random_source random(backend::seed_bytes{1});
  std::vector<std::int64_t> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    ring::sample_gaussian(random, 3.2, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void sample_ternary(benchmark::State& state) {
  ring::random_source random(backend::seed_bytes{1});
  std::vector<std::int64_t> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    ring::sample_ternary(random, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(sample_gaussian)->Arg(1 << 15)->Unit(benchmark::kMicrosecond);
BENCHMARK(sample_ternary)->Arg(1 << 15)->Unit(benchmark::kMicrosecond);

void encrypt_symmetric(benchmark::State& state, ckks_bench_rig& rig) {
  const ckks::plaintext message = rig.encode();
  for (auto _ : state) {
    auto result = rig.encryptor.encrypt(message, rig.secret);
    benchmark::DoNotOptimize(result);
  }
}

void encrypt_public(benchmark::State& state, ckks_bench_rig& rig) {
  const ckks::plaintext message = rig.encode();
  const ckks::public_key key = rig.generator.make_public_key(rig.secret);
  for (auto _ : state) {
    auto result = rig.encryptor.encrypt(message, key);
    benchmark::DoNotOptimize(result);
  }
}

void decrypt(benchmark::State& state, ckks_bench_rig& rig) {
  const ckks::ciphertext value = rig.encrypt();
  for (auto _ : state) {
    auto result = rig.decryptor.decrypt(value, rig.secret);
    benchmark::DoNotOptimize(result);
  }
}

void decrypt_values(benchmark::State& state, ckks_bench_rig& rig, double flooding_bits) {
  const ckks::ciphertext value = rig.encrypt();
  for (auto _ : state) {
    auto result = rig.decryptor.decrypt_values(value, rig.secret, rig.encoder, flooding_bits);
    benchmark::DoNotOptimize(result);
  }
}

void make_key(benchmark::State& state, ckks_bench_rig& rig) {
  const ckks::key_request request{rig.ctx->parameters().galois_element(1), rig.ctx->parameters().max_level()};
  for (auto _ : state) {
    auto result = rig.generator.make_evaluation_key(rig.secret, request, true);
    benchmark::DoNotOptimize(result);
  }
}

const bool registered = [] {
  for (const char* preset : {"n14-d6", "n15-d16", "n16-d25"}) {
    const auto add = [&](const std::string& name, auto run) {
      benchmark::RegisterBenchmark(
          ("encrypt/" + name + "/" + preset).c_str(),
          [=](benchmark::State& state) { run(state, ckks_bench_rig::get(preset, 1)); })
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    };
    add("symmetric", encrypt_symmetric);
    add("public", encrypt_public);
    add("decrypt", decrypt);
    add("decrypt_values",
        [](benchmark::State& state, ckks_bench_rig& rig) { decrypt_values(state, rig, 0.0); });
    add("decrypt_values_flooded",
        [](benchmark::State& state, ckks_bench_rig& rig) { decrypt_values(state, rig, 20.0); });
    add("make_rotation_key_seeded", make_key);
  }
  return true;
}();

}  // namespace
