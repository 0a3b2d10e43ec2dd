// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of all slots at the highest level, one thread.
#include <benchmark/benchmark.h>

#include <string>

#include "ckks/encoder_fft.hpp"
#include "ckks_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ckks_bench_rig;

void embedding(benchmark::State& state, bool to_slots) {
  const auto slots = static_cast<std::uint32_t>(state.range(0));
  const ckks::slot_transform transform(slots, 5);
  std::vector<std::complex<double>> values(slots, {0.5, -0.25});
  std::vector<double> coefficients(2 * std::size_t{slots});
  for (auto _ : state) {
    if (to_slots) {
      transform.to_slots(coefficients, values);
    } else {
      transform.to_coefficients(values, coefficients);
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * slots);
}

BENCHMARK_CAPTURE(embedding, to_coefficients, false)->RangeMultiplier(2)->Range(1 << 12, 1 << 15);
BENCHMARK_CAPTURE(embedding, to_slots, true)->RangeMultiplier(2)->Range(1 << 12, 1 << 15);

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
