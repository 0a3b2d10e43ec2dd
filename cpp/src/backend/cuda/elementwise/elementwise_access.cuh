// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "halocline/arith/arith.hpp"

/// Unrolls the next loop on the device, so that arrays indexed by it stay in registers.
#if defined(__CUDA_ARCH__)
#define HALOCLINE_UNROLL _Pragma("unroll")
#else
#define HALOCLINE_UNROLL
#endif

/// Where a thread is, and how it reads and writes device memory. Bodies of kernels are host functions too, so
/// that tests can run them thread by thread on a machine without a GPU.
namespace halocline::backend::cuda {

/// Position of a thread in a launch of a two-dimensional grid of one-dimensional blocks.
struct coordinates {
  std::uint32_t block_x;
  std::uint32_t block_y;
  std::uint32_t thread;
  std::uint32_t threads;  ///< of a block
};

/// Position of the calling thread.
#if defined(__CUDACC__)
[[nodiscard]] __device__ inline coordinates here() {
  return {blockIdx.x, blockIdx.y, threadIdx.x, blockDim.x};
}
#endif

/// What the second-level cache should do with lines of an operand: the hint of a load or a store. `keep_most`
/// keeps three quarters of the lines, always the same ones, and evicts the others first: of an operand that
/// does not fit the cache beside the others, a part then hits at its next use.
enum class cache_hint : std::uint32_t { normal, evict_first, evict_last, keep_most };

/// Opaque value that memory instructions take as their hint; computed in the kernel.
using cache_policy = std::uint64_t;

[[nodiscard]] HALOCLINE_HOST_DEVICE inline cache_policy make_policy([[maybe_unused]] cache_hint hint) {
  cache_policy policy = 0;
#if defined(__CUDA_ARCH__)
  if (hint == cache_hint::evict_first) {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else if (hint == cache_hint::evict_last) {
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  } else if (hint == cache_hint::keep_most) {
    asm("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %0, 0.75;" : "=l"(policy));
  } else {
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
#endif
  return policy;
}

/// Sixteen bytes of words: what one memory instruction of a thread moves.
template <typename WordT>
struct alignas(16) pack {
  static constexpr unsigned size = 16 / sizeof(WordT);
  WordT word[size];
};

/// Reads sixteen aligned bytes that this thread reads once.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<WordT> load(const WordT* at,
                                                            [[maybe_unused]] cache_policy policy) {
  pack<WordT> value;
#if defined(__CUDA_ARCH__)
  uint4 raw;
  asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(raw.x), "=r"(raw.y), "=r"(raw.z), "=r"(raw.w)
               : "l"(at), "l"(policy));
  memcpy(&value, &raw, sizeof(value));
#else
  std::memcpy(&value, at, sizeof(value));
#endif
  return value;
}

/// Two words.
template <typename WordT>
struct alignas(2 * sizeof(WordT)) word_pair {
  WordT word[2];
};

/// Reads two aligned words that this thread reads once.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline word_pair<WordT> load_pair(const WordT* at,
                                                                      [[maybe_unused]] cache_policy policy) {
  word_pair<WordT> value;
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(WordT) == 4) {
    asm("ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
        : "=r"(value.word[0]), "=r"(value.word[1])
        : "l"(at), "l"(policy));
  } else {
    asm("ld.global.L1::no_allocate.L2::cache_hint.v2.u64 {%0, %1}, [%2], %3;"
        : "=l"(value.word[0]), "=l"(value.word[1])
        : "l"(at), "l"(policy));
  }
#else
  std::memcpy(&value, at, sizeof(value));
#endif
  return value;
}

/// Writes two aligned words.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void store_pair(WordT* at, const word_pair<WordT>& value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<word_pair<WordT>*>(at) = value;
#else
  std::memcpy(at, &value, sizeof(value));
#endif
}

/// Begins to copy sixteen aligned bytes to shared memory; `wait_async` ends all copies of this thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void load_async(pack<WordT>& shared, const WordT* at,
                                             [[maybe_unused]] cache_policy policy) {
#if defined(__CUDA_ARCH__)
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(&shared));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(at), "l"(policy)
               : "memory");
#else
  std::memcpy(&shared, at, sizeof(shared));
#endif
}

/// The same without a hint. `ptxas` of CUDA 13.0 turns a copy whose hint is the constant `normal` into an
/// instruction that compute capability 9.0 refuses.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void load_async(pack<WordT>& shared, const WordT* at) {
#if defined(__CUDA_ARCH__)
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(&shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(at) : "memory");
#else
  std::memcpy(&shared, at, sizeof(shared));
#endif
}

/// Waits until what this thread copied with `load_async` is there.
HALOCLINE_HOST_DEVICE inline void wait_async() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Writes sixteen aligned bytes.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void store(WordT* at, const pack<WordT>& value,
                                        [[maybe_unused]] cache_policy policy) {
#if defined(__CUDA_ARCH__)
  uint4 raw;
  memcpy(&raw, &value, sizeof(value));
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(at), "r"(raw.x), "r"(raw.y), "r"(raw.z), "r"(raw.w), "l"(policy)
               : "memory");
#else
  std::memcpy(at, &value, sizeof(value));
#endif
}

}  // namespace halocline::backend::cuda
