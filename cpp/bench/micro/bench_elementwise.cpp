// SPDX-License-Identifier: Apache-2.0
// Operations that touch every word once, on polynomials of 24 limbs; mostly bound by memory.
#include "halocline/ring/automorphism.hpp"
#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

constexpr std::uint32_t limbs = 24;
constexpr arith::window all{0, limbs};

using binary_op = void (backend::backend::*)(const backend::ring_tables&,
                                             std::span<const backend::binary_job>, stream_view);

void binary(benchmark::State& state, unsigned word_bits, unsigned log_n, binary_op op) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  const std::vector<backend::binary_job> jobs{
      {rig.random_limbs(all), rig.random_limbs(all), rig.random_limbs(all)}};
  for (auto _ : state) (rig.device().*op)(rig.tables(), jobs, {});
  bench::report(state, rig, 3 * limbs);
}

void tensor(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  std::vector<backend::limb_view> x;
  for (int i = 0; i < 7; ++i) x.push_back(rig.random_limbs(all));
  const std::vector<backend::tensor_job> jobs{{x[0], x[1], x[2], x[3], x[4], x[5], x[6]}};
  for (auto _ : state) rig.device().tensor(rig.tables(), jobs);
  bench::report(state, rig, 7 * limbs);
}

void dot(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  constexpr int terms = 8;
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  backend::dot_job job{rig.random_limbs(all), {}, {}, false};
  for (int i = 0; i < terms; ++i) {
    job.a.push_back(rig.random_limbs(all));
    job.b.push_back(rig.random_limbs(all));
  }
  const std::vector<backend::dot_job> jobs{job};
  for (auto _ : state) rig.device().dot(rig.tables(), jobs);
  bench::report(state, rig, (2 * terms + 1) * limbs);
}

void scalar_multiply(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  const std::vector<backend::scalar_job> jobs{{rig.random_limbs(all), rig.random_limbs(all),
                                               std::vector<backend::scalar_pair>(limbs, {12345, 54321})}};
  for (auto _ : state) rig.device().scalar_multiply(rig.tables(), jobs);
  bench::report(state, rig, 2 * limbs);
}

void automorphism(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  const memory::buffer& table = rig.keep(ring::automorphism_permutation(5, log_n));
  const std::vector<backend::automorphism_job> jobs{{rig.random_limbs(all), rig.random_limbs(all), &table}};
  for (auto _ : state) rig.device().automorphism(rig.tables(), jobs);
  bench::report(state, rig, 2 * limbs);
}

void negacyclic_shift(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  const auto exponent = static_cast<std::uint32_t>(rig.tables().n() + 1234);
  const std::vector<backend::shift_job> jobs{{rig.random_limbs(all), rig.random_limbs(all), exponent}};
  for (auto _ : state) rig.device().negacyclic_shift(rig.tables(), jobs);
  bench::report(state, rig, 2 * limbs);
}

void encode(benchmark::State& state, unsigned word_bits, unsigned log_n) {
  ring_bench_rig rig(word_bits, log_n, limbs, 1);
  std::vector<std::int64_t> values(rig.tables().n());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i) - (1LL << 40);
  const std::vector<backend::encode_job> jobs{{rig.random_limbs(all), &rig.keep(values), 1}};
  for (auto _ : state) rig.device().encode_expand(rig.tables(), jobs);
  bench::report(state, rig, limbs);
}

const bool registered = [] {
  const auto add = [](const std::string& name, binary_op op) {
    bench::register_for_rings(name, [=](benchmark::State& state, unsigned word_bits, unsigned log_n) {
      binary(state, word_bits, log_n, op);
    });
  };
  add("elementwise/add", &backend::backend::add);
  add("elementwise/multiply", &backend::backend::multiply);
  add("elementwise/multiply_add", &backend::backend::multiply_add);
  bench::register_for_rings("elementwise/tensor", tensor);
  bench::register_for_rings("elementwise/dot_8", dot);
  bench::register_for_rings("elementwise/scalar_multiply", scalar_multiply);
  bench::register_for_rings("elementwise/automorphism", automorphism);
  bench::register_for_rings("elementwise/negacyclic_shift", negacyclic_shift);
  bench::register_for_rings("elementwise/encode_expand", encode);
  return true;
}();

}  // namespace
