// SPDX-License-Identifier: Apache-2.0
// Product of 4 digits of 30 limbs with a key, with the uniform half of the key stored or expanded from its
// seed by either rule, and the expansion of 30 limbs alone.
#include <optional>
#include <string>
#include <utility>

#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

constexpr std::uint32_t limbs = 30;
constexpr std::uint32_t digits = 4;

/// The uniform half of a key: stored, or expanded by a rule.
using half = std::optional<stream_rule>;

void multiply(benchmark::State& state, unsigned word_bits, unsigned log_n, unsigned threads, half seeded) {
  ring_bench_rig rig(word_bits, log_n, limbs, threads);
  const arith::window all{0, limbs};
  backend::key_job job{rig.random_limbs(all), rig.random_limbs(all), {}, false};
  for (std::uint32_t i = 0; i < digits; ++i) {
    job.digits.push_back({rig.random_limbs(all),
                          rig.random_limbs(all).data,
                          seeded ? nullptr : rig.random_limbs(all).data,
                          {{}, i, seeded.value_or(stream_rule{})}});
  }
  const std::vector<backend::key_job> jobs{job};
  for (auto _ : state) rig.device().key_multiply_accumulate(rig.tables(), jobs);
  bench::report(state, rig, limbs * (2 + digits * (seeded ? 2 : 3)));
}

void sample(benchmark::State& state, unsigned word_bits, unsigned log_n, stream_rule rule) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  const std::vector<backend::uniform_job> jobs{{rig.random_limbs({0, limbs}), {{}, 0, rule}}};
  for (auto _ : state) rig.device().sample_uniform(rig.tables(), jobs);
  bench::report(state, rig, limbs);
}

const bool registered = [] {
  const auto add = [](const std::string& name, unsigned threads, half seeded) {
    bench::register_for_rings(name, [=](benchmark::State& state, unsigned word_bits, unsigned log_n) {
      multiply(state, word_bits, log_n, threads, seeded);
    });
  };
  for (const unsigned threads : {1U, 2U}) {
    const std::string suffix = threads == 1 ? "" : "_2_threads";
    add("key_multiply/stored" + suffix, threads, {});
    add("key_multiply/seeded" + suffix, threads, stream_rule::chacha8_spare);
    add("key_multiply/seeded_chacha20" + suffix, threads, stream_rule::chacha20_retry);
  }
  for (const auto& [name, rule] : {std::pair{"sample_uniform", stream_rule::chacha8_spare},
                                   std::pair{"sample_uniform_chacha20", stream_rule::chacha20_retry}}) {
    bench::register_for_rings(std::string("key_multiply/") + name,
                              [rule = rule](benchmark::State& state, unsigned word_bits, unsigned log_n) {
                                sample(state, word_bits, log_n, rule);
                              });
  }
  return true;
}();

}  // namespace
