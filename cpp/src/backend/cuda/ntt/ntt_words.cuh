// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/arith.hpp"

/// In front of loops whose register arrays need constant indices on a device.
#if defined(__CUDA_ARCH__)
#define HALOCLINE_UNROLL _Pragma("unroll")
#else
#define HALOCLINE_UNROLL
#endif

/// Words of the transforms, for host and device: products and reductions that stay lazy, and memory accesses
/// of 16 bytes.
namespace halocline::backend::cuda {

#if defined(__CUDA_ARCH__)
__device__ inline std::uint32_t mul_high(std::uint32_t a, std::uint32_t b) { return __umulhi(a, b); }
__device__ inline std::uint64_t mul_high(std::uint64_t a, std::uint64_t b) { return __umul64hi(a, b); }
#else
template <typename WordT>
HALOCLINE_HOST_DEVICE inline WordT mul_high(WordT a, WordT b) {
  return static_cast<WordT>((static_cast<arith::double_word<WordT>>(a) * b) >> (8 * sizeof(WordT)));
}
#endif

/// Minimum of x and x - m as unsigned words: x mod m for x < 2m.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline WordT reduce_once(WordT x, WordT m) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(WordT) == 4) return __viaddmin_u32(x, WordT{0} - m, x);  // one instruction
#endif
  const WordT less = x - m;
  return less < x ? less : x;
}

/// High word of a product, or up to two less where that is cheaper: in 64-bit words, without the product of
/// the low halves and without the carries from below.
HALOCLINE_HOST_DEVICE inline std::uint32_t mul_high_lazy(std::uint32_t a, std::uint32_t b) {
  return mul_high(a, b);
}
HALOCLINE_HOST_DEVICE inline std::uint64_t mul_high_lazy(std::uint64_t a, std::uint64_t b) {
  const auto a_low = static_cast<std::uint32_t>(a), a_high = static_cast<std::uint32_t>(a >> 32);
  const auto b_low = static_cast<std::uint32_t>(b), b_high = static_cast<std::uint32_t>(b >> 32);
  return static_cast<std::uint64_t>(a_high) * b_high + mul_high(a_low, b_high) + mul_high(a_high, b_low);
}

/// x * w mod q in [0, lazy_bound(q)), for any x.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline WordT mul_lazy(WordT x, WordT w, WordT quotient, WordT q) {
  return x * w - mul_high_lazy(x, quotient) * q;
}

/// Sixteen bytes of words: one memory access.
template <typename WordT>
struct alignas(16) chunk {
  static constexpr unsigned words = 16 / sizeof(WordT);
  WordT word[words];
};

/// One 16-byte read; the compiler splits plain struct reads whose words are used one by one.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline chunk<WordT> read_chunk(const chunk<WordT>* from) {
#if defined(__CUDA_ARCH__)
  const uint4 bits = *reinterpret_cast<const uint4*>(from);
  return *reinterpret_cast<const chunk<WordT>*>(&bits);
#else
  return *from;
#endif
}

#if defined(__CUDA_ARCH__)
/// Words of a table in the widest reads that its alignment allows, from device memory through the read-only
/// path.
template <bool near, typename VectorT, unsigned count, typename WordT>
__device__ inline void read_vectors(WordT (&out)[count], const WordT* from) {
  constexpr unsigned step = sizeof(VectorT) / sizeof(WordT);
#pragma unroll
  for (unsigned i = 0; i < count; i += step) {
    const auto* const at = reinterpret_cast<const VectorT*>(from + i);
    VectorT bits;
    if constexpr (near) {
      bits = *at;
    } else {
      bits = __ldg(at);
    }
#pragma unroll
    for (unsigned j = 0; j < step; ++j) out[i + j] = reinterpret_cast<const WordT*>(&bits)[j];
  }
}
#endif

/// Reads `count` consecutive words of a table; the address is a multiple of `count` words.
template <bool near, unsigned count, typename WordT>
HALOCLINE_HOST_DEVICE inline void read_table(WordT (&out)[count], const WordT* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (count * sizeof(WordT) >= 16) {
    read_vectors<near, uint4>(out, from);
  } else if constexpr (count * sizeof(WordT) == 8) {
    read_vectors<near, uint2>(out, from);
  } else {
    read_vectors<near, WordT>(out, from);
  }
#else
  for (unsigned i = 0; i < count; ++i) out[i] = from[i];
#endif
}

/// What results of `mul_lazy` are below: 2q, or 4q where quotients are up to two too small. On a device it is
/// made in a way that the assembler does not see through: it would make every x + 2q an instruction of its
/// own (shift and add, partly on the multiplier's pipe) instead of one more operand of an addition that is
/// there anyway.
HALOCLINE_HOST_DEVICE inline std::uint32_t lazy_bound(std::uint32_t q) {
#if defined(__CUDA_ARCH__)
  std::uint32_t mirrored, bound;
  asm("brev.b32 %0, %1;" : "=r"(mirrored) : "r"(q));
  asm("brev.b32 %0, %1;" : "=r"(bound) : "r"(mirrored >> 1));
  return bound;
#else
  return 2 * q;
#endif
}
HALOCLINE_HOST_DEVICE inline std::uint64_t lazy_bound(std::uint64_t q) {
#if defined(__CUDA_ARCH__)
  std::uint64_t mirrored, bound;
  asm("brev.b64 %0, %1;" : "=l"(mirrored) : "l"(q));
  asm("brev.b64 %0, %1;" : "=l"(bound) : "l"(mirrored >> 2));
  return bound;
#else
  return 4 * q;
#endif
}

/// x mod q for x below the bound.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline WordT reduce_product(WordT x, WordT q) {
  if constexpr (sizeof(WordT) == 8) x = reduce_once<WordT>(x, 2 * q);
  return reduce_once<WordT>(x, q);
}

}  // namespace halocline::backend::cuda
