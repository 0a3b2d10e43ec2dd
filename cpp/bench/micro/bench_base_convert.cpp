// SPDX-License-Identifier: Apache-2.0
// Base conversion of a digit of 6 limbs to 24 others, with one and two threads.
#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

/// Any constants below the primes do: the time does not depend on them.
template <typename WordT>
std::vector<WordT> any_constants(std::uint32_t sources, std::uint32_t targets) {
  std::vector<WordT> words(3 * sources + targets * (sources + 1));
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<WordT>(1000003 * (i + 1) % (1U << 21));
  return words;
}

void convert(benchmark::State& state, unsigned word_bits, unsigned log_n, unsigned threads) {
  constexpr std::uint32_t sources = 6, targets = 24;
  ring_bench_rig rig(word_bits, log_n, sources + targets, threads);
  backend::conversion_table table;
  for (std::uint32_t i = 0; i < sources; ++i) table.sources.push_back(i);
  for (std::uint32_t i = 0; i < targets; ++i) table.targets.push_back(sources + i);
  const auto upload = [&](const auto& words) {
    const auto bytes = std::as_bytes(std::span(words));
    table.data = rig.device().runtime().allocate(bytes.size(), memory::object_class::table, "bench");
    rig.device().upload(table.data, 0, bytes);
  };
  if (word_bits == 32) {
    upload(any_constants<std::uint32_t>(sources, targets));
  } else {
    upload(any_constants<std::uint64_t>(sources, targets));
  }
  const std::vector<backend::convert_job> jobs{
      {{rig.random_limbs({0, sources})}, {rig.random_limbs({sources, targets})}, &table}};
  for (auto _ : state) rig.device().base_convert(rig.tables(), jobs);
  bench::report(state, rig, sources + targets);
}

const bool registered = [] {
  for (const unsigned threads : {1U, 2U}) {
    const std::string name = threads == 1 ? "base_convert/6_to_24" : "base_convert/6_to_24_2_threads";
    bench::register_for_rings(name, [=](benchmark::State& state, unsigned word_bits, unsigned log_n) {
      convert(state, word_bits, log_n, threads);
    });
  }
  return true;
}();

}  // namespace
