// SPDX-License-Identifier: Apache-2.0
// Every evaluator operation at the highest level of three presets, with one and two threads.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "ckks_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ckks_bench_rig;

struct operands {
  explicit operands(ckks_bench_rig& r) : rig(r), a(r.encrypt()), b(r.encrypt()), plain(r.encode()) {
    r.eval.set_mode(ckks::maintenance::manual);
    product = r.eval.multiply(a, b);
    r.eval.set_mode(ckks::maintenance::automatic);
  }
  ckks_bench_rig& rig;
  ckks::ciphertext a;
  ckks::ciphertext b;
  ckks::ciphertext product;
  ckks::plaintext plain;
};

using operation = std::function<ckks::ciphertext(operands&)>;

void run(benchmark::State& state, const std::string& preset, unsigned threads, const operation& op) {
  operands o(ckks_bench_rig::get(preset, threads));
  for (auto _ : state) {
    ckks::ciphertext result = op(o);
    benchmark::DoNotOptimize(result);
  }
}

const std::vector<std::pair<std::string, operation>>& operations() {
  static const std::vector<std::pair<std::string, operation>> list{
      {"add", [](operands& o) { return o.rig.eval.add(o.a, o.b); }},
      {"sub", [](operands& o) { return o.rig.eval.sub(o.a, o.b); }},
      {"negate", [](operands& o) { return o.rig.eval.negate(o.a); }},
      {"add_plain", [](operands& o) { return o.rig.eval.add_plain(o.a, o.plain); }},
      {"add_constant", [](operands& o) { return o.rig.eval.add_constant(o.a, 0.5); }},
      {"multiply_plain", [](operands& o) { return o.rig.eval.multiply_plain(o.a, o.plain); }},
      {"multiply_values_rescale", [](operands& o) { return o.rig.eval.multiply_values(o.a, o.rig.values); }},
      {"multiply_constant_rescale", [](operands& o) { return o.rig.eval.multiply_constant(o.a, 0.3); }},
      {"multiply_by_i", [](operands& o) { return o.rig.eval.multiply_by_i(o.a); }},
      {"multiply_relinearize_rescale", [](operands& o) { return o.rig.eval.multiply(o.a, o.b); }},
      {"relinearize", [](operands& o) { return o.rig.eval.relinearize(o.product); }},
      {"rescale", [](operands& o) { return o.rig.eval.rescale(o.a); }},
      {"drop_level", [](operands& o) { return o.rig.eval.drop_level(o.a, o.a.level / 2); }},
      {"rotate", [](operands& o) { return o.rig.eval.rotate(o.a, 1); }},
      {"conjugate", [](operands& o) { return o.rig.eval.conjugate(o.a); }},
      {"rotate_hoisted_3",
       [](operands& o) {
         const std::vector<std::int64_t> steps{1, 2, 4};
         return std::move(o.rig.eval.rotate_hoisted(o.a, steps).back());
       }},
      {"inner_sum_8", [](operands& o) { return o.rig.eval.inner_sum(o.a, 1, 8); }},
  };
  return list;
}

const bool registered = [] {
  for (const char* preset : {"n14-d6", "n15-d16", "n16-d25"}) {
    for (const unsigned threads : {1U, 2U}) {
      for (const auto& [name, op] : operations()) {
        const std::string full = "evaluator/" + name + "/" + preset + "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(full.c_str(),
                                     [=](benchmark::State& state) { run(state, preset, threads, op); })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
