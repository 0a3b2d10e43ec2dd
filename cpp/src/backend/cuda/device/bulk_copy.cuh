// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/elementwise/elementwise_access.cuh"

/// Copies from device memory to shared memory by the hardware (compute capability 9.0), and barriers that say
/// when they have arrived. Nothing for others: kernels that use these are not launched there.
namespace halocline::backend::cuda {

[[nodiscard]] __device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// A barrier in shared memory. It is passed once for each time that all of its arrivals, and all bytes that
/// are expected, have come; `parity` says which time a waiting thread means, modulo 2.
struct stage_barrier {
  std::uint64_t state;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ void begin(std::uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&state)), "r"(arrivals)
                 : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&state)) : "memory");
  }
  __device__ void arrive_with(std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&state)),
                 "r"(bytes)
                 : "memory");
  }
  __device__ void wait(std::uint32_t parity) {
    asm volatile(
        "{ .reg .pred passed;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 passed, [%0], %1;\n"
        "@!passed bra again; }" ::"r"(shared_address(&state)),
        "r"(parity)
        : "memory");
  }
#endif
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// After the barriers of a block have begun, and before threads of it use them.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// What this thread did with shared memory comes before the copies to it that are asked for later.
__device__ __forceinline__ void release_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Begins to copy `bytes`; both addresses and the number of bytes are multiples of 16.
__device__ __forceinline__ void copy_bulk(const void* from, void* to, std::uint32_t bytes,
                                          stage_barrier& done) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&done.state))
      : "memory");
}

/// The same with a hint for the second-level cache.
__device__ __forceinline__ void copy_bulk(const void* from, void* to, std::uint32_t bytes,
                                          stage_barrier& done, cache_policy policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&done.state)), "l"(policy)
      : "memory");
}
#endif

/// Number of a stage, and how often all of them have been used, modulo 2.
struct stage_place {
  std::uint32_t stage = 0, parity = 0;

  HALOCLINE_HOST_DEVICE void advance(std::uint32_t stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

}  // namespace halocline::backend::cuda
