// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of all slots at the highest level, one thread.
#include <benchmark/benchmark.h>

#include <string>

#include "ckks_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ckks_bench_rig;

void encode(benchmark::State& state, const std::string& preset) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  for (auto _ : state) {
    auto result = rig.encode();
    benchmark::DoNotOptimize(result);
  }
}

void encode_compact(benchmark::State& state, const std::string& preset) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  for (auto _ : state) {
    auto result = rig.encoder.encode_compact(rig.values, rig.ctx->parameters().target_scale());
    benchmark::DoNotOptimize(result);
  }
}

void expand(benchmark::State& state, const std::string& preset) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  const auto compact = rig.encoder.encode_compact(rig.values, rig.ctx->parameters().target_scale());
  for (auto _ : state) {
    auto result = rig.encoder.expand(compact, rig.ctx->parameters().max_level());
    benchmark::DoNotOptimize(result);
  }
}

void decode(benchmark::State& state, const std::string& preset) {
  ckks_bench_rig& rig = ckks_bench_rig::get(preset, 1);
  const ckks::plaintext message = rig.encode();
  for (auto _ : state) {
    auto result = rig.encoder.decode(message);
    benchmark::DoNotOptimize(result);
  }
}

const bool registered = [] {
  for (const char* preset : {"n14-d6", "n15-d16", "n16-d25"}) {
    const auto add = [&](const std::string& name, auto run) {
      benchmark::RegisterBenchmark(("encode/" + name + "/" + preset).c_str(), run)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    };
    add("encode", [=](benchmark::State& state) { encode(state, preset); });
    add("encode_compact", [=](benchmark::State& state) { encode_compact(state, preset); });
    add("expand", [=](benchmark::State& state) { expand(state, preset); });
    add("decode", [=](benchmark::State& state) { decode(state, preset); });
  }
  return true;
}();

}  // namespace
