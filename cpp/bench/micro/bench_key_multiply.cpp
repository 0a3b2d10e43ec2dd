// SPDX-License-Identifier: Apache-2.0
// Product of 4 digits of 30 limbs with a key, with the uniform half of the key stored or expanded from its
// seed, and the expansion alone.
#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

constexpr std::uint32_t limbs = 30;
constexpr std::uint32_t digits = 4;

void multiply(benchmark::State& state, unsigned word_bits, unsigned log_n, unsigned threads, bool seeded) {
  ring_bench_rig rig(word_bits, log_n, limbs, threads);
  const backend::window all{0, limbs};
  backend::key_job job{rig.random_limbs(all), rig.random_limbs(all), {}, false};
  for (std::uint32_t i = 0; i < digits; ++i) {
    job.digits.push_back({rig.random_limbs(all),
                          rig.random_limbs(all).data,
                          seeded ? nullptr : rig.random_limbs(all).data,
                          {{}, i}});
  }
  const std::vector<backend::key_job> jobs{job};
  for (auto _ : state) rig.device().key_multiply_accumulate(rig.tables(), jobs);
  bench::report(state, rig, limbs * (2 + digits * (seeded ? 2 : 3)));
}

void sample(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, 1, 1);
  const std::vector<backend::uniform_job> jobs{{rig.random_limbs({0, 1}), {}}};
  for (auto _ : state) rig.device().sample_uniform(rig.tables(), jobs);
  bench::report(state, rig, 1);
}

const bool registered = [] {
  const auto add = [](const std::string& name, unsigned threads, bool seeded) {
    bench::register_for_rings(name, [=](benchmark::State& state, unsigned word_bits, unsigned log_n) {
      multiply(state, word_bits, log_n, threads, seeded);
    });
  };
  add("key_multiply/stored", 1, false);
  add("key_multiply/seeded", 1, true);
  add("key_multiply/stored_2_threads", 2, false);
  add("key_multiply/seeded_2_threads", 2, true);
  bench::register_for_rings("key_multiply/sample_uniform", sample);
  return true;
}();

}  // namespace
