// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/fused_block.cuh"
#include "backend/cuda/retrieval/fused_plan.hpp"
#include "backend/cuda/retrieval/fused_tuning.hpp"
#include "halocline/core/expects.hpp"

/// What launches of fused kernels share.
namespace halocline::backend::cuda {

/// The team of a block on a device: each thread calls for itself.
template <typename ShapeT>
struct device_team {
  fused_state<ShapeT> own;

  template <typename BodyT>
  __device__ __forceinline__ void each(const BodyT& body) {
    body(threadIdx.x, own);
    __syncthreads();
  }
  template <typename BodyT>
  __device__ __forceinline__ void each_alone(const BodyT& body) {
    body(threadIdx.x, own);
  }
};

extern __shared__ uint4 fused_shared[];

using fused_function = void (*)(fused_params);

/// @param bytes of shared memory
/// @throws invalid_argument where a block has no room
inline void check_fused(const char* name, int architecture, const fused_choice& choice, unsigned log_n,
                        std::uint32_t limbs, std::uint32_t bytes) {
  const std::uint32_t most = most_fused_bytes(architecture);
  HALOCLINE_EXPECTS(log_n > choice.e && log_n <= most_fused_log_n && bytes <= most, invalid_argument, name,
                    ": a ring of 2^", log_n, " coefficients and ", limbs, " primes needs ", bytes,
                    " bytes of shared memory; expected at most ", most, " and 2^5 to 2^", most_fused_log_n,
                    " coefficients. Use the operations one by one");
}

}  // namespace halocline::backend::cuda
