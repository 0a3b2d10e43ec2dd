// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/elementwise/elementwise_access.cuh"

/// Copies from device memory to stages of shared memory that a kernel fills while it uses others.
namespace halocline::backend::cuda {

/// Starts to copy 16 bytes to shared memory, or zeros.
HALOCLINE_HOST_DEVICE inline void copy_or_zero(std::uint32_t* shared, const std::uint32_t* from, bool there) {
#if defined(__CUDA_ARCH__)
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const unsigned bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
#else
  for (unsigned i = 0; i < 4; ++i) shared[i] = there ? from[i] : 0;
#endif
}
/// Ends a group of copies of this thread, of which `wait_stages` waits for all but the latest `pending`.
HALOCLINE_HOST_DEVICE inline void end_stage() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <unsigned pending>
HALOCLINE_HOST_DEVICE inline void wait_stages() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

}  // namespace halocline::backend::cuda
