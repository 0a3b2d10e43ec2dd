// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace halocline::backend::cuda {

/// Lets the next kernel's blocks take places as soon as every block of this one has begun.
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits for the kernel before. Kernels that begin by reading parameters and tables that no kernel writes do
/// so between the two calls.
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// First statement of every kernel. Kernels are launched so that their blocks may take places on the card
/// while the last blocks of the kernel before still run (programmatic dependent launch, compute
/// capability 9.0): this lets the next kernel do so in turn, and waits until the kernel before has ended and
/// its results are visible. Every thread must pass here, also one with nothing to do: a kernel that ended
/// before its predecessor would let its successor begin too early.
__device__ inline void begin_kernel() {
  let_next_begin();
  wait_for_previous();
}

}  // namespace halocline::backend::cuda
