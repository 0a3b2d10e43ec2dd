// SPDX-License-Identifier: Apache-2.0
// What a call of an operation costs besides its arithmetic: one limb of 16 words.
#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

/// `jobs` additions per call on `device`.
void dispatch(benchmark::State& state, const std::string& device, std::size_t jobs) {
  constexpr unsigned log_n = 4;
  ring_bench_rig rig(32, log_n, 1, 1, device);
  const arith::window one{0, 1};
  const backend::binary_job job{rig.random_limbs(one), rig.random_limbs(one), rig.random_limbs(one)};
  const std::vector<backend::binary_job> batch(jobs, job);
  for (auto _ : state) rig.device().add(rig.tables(), batch);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

const bool registered = [] {
  for (const char* const device : {"cpu", "ghost"}) {
    for (const std::size_t jobs : {std::size_t{1}, std::size_t{16}}) {
      benchmark::RegisterBenchmark(
          ("dispatch/add/" + std::string(device) + "/" + std::to_string(jobs)).c_str(),
          [=](benchmark::State& state) { dispatch(state, device, jobs); });
    }
  }
  return true;
}();

}  // namespace
