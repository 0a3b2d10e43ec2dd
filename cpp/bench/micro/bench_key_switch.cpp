// SPDX-License-Identifier: Apache-2.0
// The three stages of a key switch at the highest level, one thread.
#include <benchmark/benchmark.h>

#include <string>

#include "ckks_bench_rig.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/rns/mod_up.hpp"

namespace {

using namespace halocline;
using bench::ckks_bench_rig;

void mod_up(benchmark::State& state, const std::string& preset) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  const ckks::ciphertext a = rig.encrypt();
  for (auto _ : state) {
    auto digits = rns::mod_up(rig.ctx->ring(), rig.ctx->converter(), a.parts[1].chain());
    benchmark::DoNotOptimize(digits);
  }
}

void key_product(benchmark::State& state, const std::string& preset, bool seeded) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  const ckks::ciphertext a = rig.encrypt();
  const auto digits = rns::mod_up(rig.ctx->ring(), rig.ctx->converter(), a.parts[1].chain());
  const ckks::evaluation_key key =
      rig.generator.make_evaluation_key(rig.secret, {ckks::relinearization_element, a.level}, seeded);
  for (auto _ : state) {
    auto product = ckks::key_product(*rig.ctx, digits, key);
    benchmark::DoNotOptimize(product);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * key.bytes()));
}

void divide(benchmark::State& state, const std::string& preset) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  const ckks::ciphertext a = rig.encrypt();
  const auto digits = rns::mod_up(rig.ctx->ring(), rig.ctx->converter(), a.parts[1].chain());
  const auto product =
      ckks::key_product(*rig.ctx, digits, rig.keys.get(ckks::relinearization_element, a.level));
  for (auto _ : state) {
    auto quotient =
        ckks::divide_by_special(*rig.ctx, product, a.level, memory::object_class::scratch, "bench");
    benchmark::DoNotOptimize(quotient);
  }
}

const bool registered = [] {
  for (const char* preset : {"n14-d6", "n15-d16", "n16-d25"}) {
    const std::string suffix = std::string("/") + preset;
    const auto add = [&](const std::string& name, auto run) {
      benchmark::RegisterBenchmark(("key_switch/" + name + suffix).c_str(), run)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    };
    add("mod_up", [=](benchmark::State& state) { mod_up(state, preset); });
    add("key_product", [=](benchmark::State& state) { key_product(state, preset, false); });
    add("key_product_seeded", [=](benchmark::State& state) { key_product(state, preset, true); });
    add("divide_by_special", [=](benchmark::State& state) { divide(state, preset); });
  }
  return true;
}();

}  // namespace
