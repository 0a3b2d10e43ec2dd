// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/executor.hpp"
#include "halocline/arith/coefficient_math.hpp"
#include "halocline/arith/small_stream.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr unsigned threads = 128;

[[nodiscard]] unsigned blocks_for(std::size_t items) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

/// A pointer to the seed, never the seed itself: parameter blocks may be recorded.
struct small_params {
  std::int64_t* dst;
  const std::uint8_t* seed;
  const std::uint64_t* table;
  std::uint32_t entries;
  std::uint32_t stream;
  std::uint32_t count;
};

/// One ChaCha20 block per thread.
__global__ void __launch_bounds__(threads) sample_ternary(const __grid_constant__ small_params p) {
  begin_kernel();
  constexpr std::uint32_t per_block = arith::ternary_per_block;
  const std::uint32_t b = blockIdx.x * threads + threadIdx.x;
  if (b >= p.count / per_block) return;
  const arith::chacha_key key = arith::make_chacha_key(p.seed);
  const arith::chacha_block block = arith::chacha20(key, b, {p.stream, arith::ternary_domain, 0});
#pragma unroll
  for (std::uint32_t i = 0; i < per_block; ++i) {
    const std::uint32_t at = b * per_block + i;
    const std::uint32_t accepted = arith::ternary_accepted(block.words[i]);
    p.dst[at] = accepted != 0 ? arith::ternary_value(block.words[i], accepted)
                              : arith::ternary_coefficient(key, p.stream, at, 1);
  }
}

__global__ void __launch_bounds__(threads) sample_gaussian(const __grid_constant__ small_params p) {
  begin_kernel();
  constexpr std::uint32_t per_block = arith::gaussian_per_block;
  const std::uint32_t b = blockIdx.x * threads + threadIdx.x;
  if (b >= p.count / per_block) return;
  const arith::chacha_key key = arith::make_chacha_key(p.seed);
  const arith::chacha_block block = arith::chacha20(key, b, {p.stream, arith::gaussian_domain, 0});
  std::uint32_t missed[per_block] = {};
  for (std::uint32_t e = 0; e < p.entries; ++e) {  // the scan of `arith::gaussian_value`, for all at once
    const std::uint64_t entry = p.table[e];
#pragma unroll
    for (std::uint32_t i = 0; i < per_block; ++i) {
      const std::uint64_t position = arith::block_word<std::uint64_t>(block, i) & 0x7fffffffffffffffU;
      missed[i] += static_cast<std::uint32_t>((position - entry) >> 63);
    }
  }
#pragma unroll
  for (std::uint32_t i = 0; i < per_block; ++i) {
    const std::uint64_t word = arith::block_word<std::uint64_t>(block, i);
    const std::int64_t negative = -static_cast<std::int64_t>(word >> 63);
    p.dst[b * per_block + i] = (static_cast<std::int64_t>(p.entries - missed[i]) ^ negative) - negative;
  }
}

struct clear_params {
  std::uint64_t* word;
};

__global__ void clear_word(const __grid_constant__ clear_params p) {
  begin_kernel();
  *p.word = 0;
}

struct round_params {
  const double* src;
  std::uint64_t* dst;
  std::uint64_t* largest;
  double factor;
  std::uint32_t count;
  std::uint32_t n;
  std::uint32_t words;
};

/// Largest magnitude. Doubles that are not negative are ordered as their bits are.
__global__ void __launch_bounds__(threads) find_largest(const __grid_constant__ round_params p) {
  begin_kernel();
  unsigned long long found = 0;
  for (std::uint32_t i = blockIdx.x * threads + threadIdx.x; i < p.count; i += gridDim.x * threads) {
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(fabs(p.src[i])));
    found = found > bits ? found : bits;
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffff, found, lane);
    found = found > other ? found : other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<unsigned long long*>(p.largest), found);
}

__global__ void __launch_bounds__(threads) round_all(const __grid_constant__ round_params p) {
  begin_kernel();
  const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
  if (i >= p.n) return;
  const std::uint32_t stride = p.n / p.count;
  arith::wide_coefficient whole{0, 0};
  if (i % stride == 0) whole = arith::to_wide(arith::rounded_coefficient(p.src[i / stride], p.factor));
  p.dst[std::size_t{i} * p.words] = whole.low;
  if (p.words == 2) p.dst[std::size_t{i} * 2 + 1] = whole.high;
}

template <typename WordT>
struct lift_params {
  WordT* limbs;
  double* dst;
  const arith::modulus<WordT>* moduli;
  const arith::elimination<WordT>* table;
  std::uint64_t* overflow;
  double scale;
  std::uint32_t count;
  std::uint32_t stride;
  std::uint32_t limb_count;
  std::uint32_t n;
};

template <typename WordT>
__global__ void __launch_bounds__(threads) lift_all(const __grid_constant__ lift_params<WordT> p) {
  begin_kernel();
  const std::uint32_t c = blockIdx.x * threads + threadIdx.x;
  if (c >= p.count) return;
  WordT top = 0;
  p.dst[c] = arith::lifted_coefficient(p.limbs + std::size_t{c} * p.stride, p.n, p.limb_count, p.moduli,
                                       p.table, p.scale, top);
  if (p.overflow != nullptr && top != 0) *p.overflow = 1;  // all that write, write the same
}

/// The bytes of a buffer that the step writes.
template <typename T, typename ResolverT>
[[nodiscard]] T* target(const ResolverT& resolve, const memory::buffer* data) {
  return data != nullptr ? const_cast<T*>(resolve.template raw<T>(*data)) : nullptr;
}

template <typename WordT>
void sample_small(const executor<WordT>& on, std::span<const small_job> jobs) {
  const auto n = static_cast<std::uint32_t>(on.resolve.n());
  for (const small_job& job : jobs) {
    small_params p{target<std::int64_t>(on.resolve, job.dst),
                   on.resolve.template raw<std::uint8_t>(*job.seed),
                   target<std::uint64_t>(on.resolve, job.table),
                   0,
                   job.stream,
                   n};
    if (job.table == nullptr) {
      on.launch("sample_ternary", sample_ternary, blocks_for(n / arith::ternary_per_block), threads, 0, p);
      continue;
    }
    p.entries = static_cast<std::uint32_t>(job.table->size() / sizeof(std::uint64_t));
    on.launch("sample_gaussian", sample_gaussian, blocks_for(n / arith::gaussian_per_block), threads, 0, p);
  }
}

template <typename WordT>
void round_coefficients(const executor<WordT>& on, std::span<const round_job> jobs) {
  constexpr unsigned most_blocks = 512;
  for (const round_job& job : jobs) {
    const round_params p{on.resolve.template raw<double>(*job.src),
                         target<std::uint64_t>(on.resolve, job.dst),
                         target<std::uint64_t>(on.resolve, job.largest),
                         job.factor,
                         job.count,
                         job.dense ? job.count : static_cast<std::uint32_t>(on.resolve.n()),
                         job.words};
    if (job.largest != nullptr) {
      on.launch("clear_word", clear_word, 1, 1, 0, clear_params{p.largest});
      const unsigned blocks = blocks_for(job.count);
      on.launch("find_largest", find_largest, blocks < most_blocks ? blocks : most_blocks, threads, 0, p);
    }
    if (job.dst != nullptr) on.launch("round_all", round_all, blocks_for(p.n), threads, 0, p);
  }
}

template <typename WordT>
void lift(const executor<WordT>& on, std::span<const lift_job> jobs) {
  for (const lift_job& job : jobs) {
    const lift_params<WordT> p{on.resolve.limb(job.src),
                               target<double>(on.resolve, job.dst),
                               on.resolve.moduli() + job.src.primes.first,
                               target<arith::elimination<WordT>>(on.resolve, job.table),
                               target<std::uint64_t>(on.resolve, job.overflow),
                               job.scale,
                               job.count,
                               job.stride,
                               job.src.primes.count,
                               static_cast<std::uint32_t>(on.resolve.n())};
    if (job.overflow != nullptr) on.launch("clear_word", clear_word, 1, 1, 0, clear_params{p.overflow});
    on.launch("lift", lift_all<WordT>, blocks_for(job.count), threads, 0, p);
  }
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> client_operations() {
  return op_table<executor<WordT>>{
      row<sample_small<WordT>>(ops::sample_small),
      row<round_coefficients<WordT>>(ops::round_coefficients),
      row<lift<WordT>>(ops::lift),
  };
}

template op_table<executor<std::uint32_t>> client_operations();
template op_table<executor<std::uint64_t>> client_operations();

}  // namespace halocline::backend::cuda
