// SPDX-License-Identifier: Apache-2.0
// Kernels and memory of halocline_ntt_bench: filling, comparing, ceilings.
#include <algorithm>
#include <random>
#include <span>

#include "backend/cpu/scalar_ntt.hpp"
#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/ntt/ntt_lean.cuh"
#include "backend/cuda/ntt/ntt_tuning.hpp"
#include "bench_ntt_family.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::bench {
namespace {

template <typename WordT>
__global__ void repeat_kernel(WordT* dst, const WordT* base, std::size_t mask, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    dst[i] = base[i & mask];
}

template <typename WordT>
__global__ void compare_kernel(const WordT* data, const WordT* base, std::size_t mask, std::size_t count,
                               unsigned long long* wrong) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    mine += data[i] != base[i & mask];
  if (mine != 0) atomicAdd(wrong, mine);
}

__global__ void copy_kernel(uint4* dst, const uint4* src, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    dst[i] = src[i];
}

constexpr unsigned peak_rounds = 256, peak_butterflies = 32;

/// Radix-16 rounds of the production arithmetic with one twiddle for all butterflies, no memory traffic.
template <typename WordT, template <typename, bool> typename TableT>
__global__ void __launch_bounds__(256)
    butterfly_kernel(WordT* out, WordT w, WordT quotient, arith::modulus<WordT> q) {
  WordT x[16];
#pragma unroll
  for (unsigned i = 0; i < 16; ++i) x[i] = threadIdx.x * 16 + i;
  TableT<WordT, false> at;
  cuda::set_prime<false>(at, q);
  const WordT bound = at.bound;
  for (unsigned r = 0; r < peak_rounds; ++r) {
#pragma unroll
    for (unsigned half = 8; half >= 1; half /= 2) {
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned low = i / half * 2 * half + i % half;
        const WordT a = cuda::before_sum(x[low], at);
        const WordT b = cuda::times(x[low + half], w, quotient, at);
        x[low] = a + b;
        x[low + half] = a + bound - b;
      }
    }
  }
  WordT sum = 0;
#pragma unroll
  for (unsigned i = 0; i < 16; ++i) sum ^= x[i];
  if (sum == 1) out[0] = sum;  // never decided when compiling
}

void launched(const char* what) { cuda::check(cudaGetLastError(), what); }

template <typename WordT, template <typename, bool> typename TableT>
double butterfly_peak(const cuda::device_context& device, void* pool, unsigned bits) {
  const auto q = arith::make_modulus(static_cast<WordT>(params::primes_below(bits, 1, 1 << 17)[0]));
  const WordT w = q.value / 3;
  const unsigned blocks = static_cast<unsigned>(device.multiprocessors()) * 32;
  const double seconds = median_seconds(device, [&](std::size_t) {
    butterfly_kernel<WordT, TableT>
        <<<blocks, 256, 0, device.compute()>>>(static_cast<WordT*>(pool), w, arith::shoup_quotient(w, q), q);
  });
  launched("measure the butterfly rate");
  return 256.0 * blocks * peak_rounds * peak_butterflies / seconds;
}

template <typename WordT>
void fill(const ntt_bench_tables<WordT>& of, unsigned bits) {
  const std::size_t n = std::size_t{1} << of.log_n;
  std::vector<arith::modulus<WordT>> moduli;
  std::vector<WordT> roots(4 * n * of.primes), values(n * of.primes), transformed(n * of.primes);
  std::mt19937_64 random(std::random_device{}());
  for (const std::uint64_t prime : params::primes_below(bits, of.primes, 2 * n)) {
    const std::size_t i = moduli.size();
    const arith::modulus<WordT>& q = moduli.emplace_back(arith::make_modulus(static_cast<WordT>(prime)));
    WordT* const at = roots.data() + 4 * n * i;
    ring::fill_roots<WordT>(q, of.log_n, std::span(at, 4 * n));
    for (std::size_t j = 0; j < n; ++j) values[n * i + j] = static_cast<WordT>(random() % prime);
    const cpu::prime_tables<WordT> tables{&q, at, at + n, at + 2 * n, at + 3 * n, of.log_n};
    cpu::scalar::ntt(transformed.data() + n * i, values.data() + n * i, tables);
  }
  const auto copy = [](const device_bytes& to, const auto& from) {
    cuda::check(cudaMemcpy(to.as<void>(), from.data(), from.size() * sizeof(from[0]), cudaMemcpyHostToDevice),
                "copy tables");
  };
  copy(of.moduli, moduli);
  copy(of.roots, roots);
  copy(of.values, values);
  copy(of.transformed, transformed);
}

}  // namespace

device_bytes::device_bytes(std::size_t bytes) { cuda::check(cudaMalloc(&data_, bytes), "allocate"); }
device_bytes::~device_bytes() { cudaFree(data_); }

template <typename WordT>
ntt_bench_tables<WordT>::ntt_bench_tables(unsigned log_n, unsigned primes, unsigned bits)
    : log_n(log_n),
      primes(primes),
      moduli(primes * sizeof(arith::modulus<WordT>)),
      roots((std::size_t{4} * primes * sizeof(WordT)) << log_n),
      values((primes * sizeof(WordT)) << log_n),
      transformed((primes * sizeof(WordT)) << log_n) {
  fill(*this, bits != 0 ? bits : sizeof(WordT) == 4 ? 30 : 61);
}

template <typename WordT>
void repeat_words(const cuda::device_context& device, WordT* dst, const WordT* base, std::size_t mask,
                  std::size_t count) {
  repeat_kernel<<<1056, 256, 0, device.compute()>>>(dst, base, mask, count);
  launched("fill");
}

template <typename WordT>
std::uint64_t count_wrong(const cuda::device_context& device, const WordT* data, const WordT* base,
                          std::size_t mask, std::size_t count) {
  const device_bytes counter(sizeof(unsigned long long));
  auto* const wrong = counter.as<unsigned long long>();
  cuda::check(cudaMemsetAsync(wrong, 0, sizeof(*wrong), device.compute()), "compare");
  compare_kernel<<<1056, 256, 0, device.compute()>>>(data, base, mask, count, wrong);
  launched("compare");
  unsigned long long found = 0;
  cuda::check(cudaMemcpyAsync(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost, device.compute()),
              "compare");
  device.wait();
  return found;
}

peaks measure_peaks(const cuda::device_context& device, void* pool, std::size_t bytes) {
  peaks found;
  const std::size_t half = bytes / 2;
  const double seconds = median_seconds(device, [&](std::size_t) {
    copy_kernel<<<132 * 16, 512, 0, device.compute()>>>(
        static_cast<uint4*>(pool), static_cast<uint4*>(pool) + half / sizeof(uint4), half / sizeof(uint4));
  });
  launched("measure the copy rate");
  found.copy_bytes = 2.0 * static_cast<double>(half) / seconds;
  found.butterflies[0] = butterfly_peak<std::uint32_t, cuda::twiddle_table>(device, pool, 30);
  found.butterflies[1] = butterfly_peak<std::uint64_t, cuda::twiddle_table>(device, pool, 61);
  found.lean_butterflies = butterfly_peak<std::uint64_t, cuda::lean_table>(device, pool, cuda::lean_bits - 1);
  return found;
}

double median_seconds(const cuda::device_context& device, const std::function<void(std::size_t)>& run) {
  constexpr std::size_t groups = 21;
  constexpr double group_milliseconds = 0.2;
  const cuda::event begin(true), end(true);
  std::size_t next = 0, repeats = 1;
  const auto time = [&] {
    begin.record(device.compute());
    for (std::size_t i = 0; i < repeats; ++i) run(next++);
    end.record(device.compute());
    end.wait();
    return static_cast<double>(end.milliseconds_since(begin));
  };
  time();  // loads the kernel
  const double once = std::max(time(), 1e-3);
  repeats = std::clamp<std::size_t>(static_cast<std::size_t>(group_milliseconds / once), 1, 64);
  time();
  std::vector<double> milliseconds;
  for (std::size_t i = 0; i < groups; ++i) milliseconds.push_back(time());
  std::nth_element(milliseconds.begin(), milliseconds.begin() + groups / 2, milliseconds.end());
  return milliseconds[groups / 2] / 1e3 / static_cast<double>(repeats);
}

template class ntt_bench_tables<std::uint32_t>;
template class ntt_bench_tables<std::uint64_t>;
template void repeat_words(const cuda::device_context&, std::uint32_t*, const std::uint32_t*, std::size_t,
                           std::size_t);
template void repeat_words(const cuda::device_context&, std::uint64_t*, const std::uint64_t*, std::size_t,
                           std::size_t);
template std::uint64_t count_wrong(const cuda::device_context&, const std::uint32_t*, const std::uint32_t*,
                                   std::size_t, std::size_t);
template std::uint64_t count_wrong(const cuda::device_context&, const std::uint64_t*, const std::uint64_t*,
                                   std::size_t, std::size_t);

}  // namespace halocline::bench
