// SPDX-License-Identifier: Apache-2.0
// NTTs of one limb (tables and data in cache) and of a polynomial of 24 limbs, with one and two threads.
#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

enum class direction { forward, inverse };

void transform(benchmark::State& state, unsigned word_bits, unsigned log_n, std::uint32_t limbs,
               unsigned threads, direction which) {
  ring_bench_rig rig(word_bits, log_n, limbs, threads);
  const backend::limb_view x = rig.random_limbs({0, limbs});
  const std::vector<backend::unary_job> jobs{{x, x}};
  for (auto _ : state) {
    if (which == direction::forward) {
      rig.device().ntt(rig.tables(), jobs);
    } else {
      rig.device().intt(rig.tables(), jobs);
    }
  }
  bench::report(state, rig, limbs);
}

/// dst = a * x + b * ntt(y), the last step of a division by primes.
void combine(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, 1, 1);
  const backend::limb_view x = rig.random_limbs({0, 1}), y = rig.random_limbs({0, 1});
  const std::vector<backend::linear_job> jobs{{x, x, y, {12345}, {54321}}};
  for (auto _ : state) rig.device().ntt_linear_combine(rig.tables(), jobs);
  bench::report(state, rig, 1);
}

const bool registered = [] {
  const auto add = [](const std::string& name, std::uint32_t limbs, unsigned threads, direction which) {
    bench::register_for_rings(name, [=](benchmark::State& state, unsigned word_bits, unsigned log_n) {
      transform(state, word_bits, log_n, limbs, threads, which);
    });
  };
  add("ntt/forward", 1, 1, direction::forward);
  add("ntt/inverse", 1, 1, direction::inverse);
  add("ntt/forward_24_limbs", 24, 1, direction::forward);
  add("ntt/forward_24_limbs_2_threads", 24, 2, direction::forward);
  bench::register_for_rings("ntt/linear_combine", combine);
  return true;
}();

}  // namespace
