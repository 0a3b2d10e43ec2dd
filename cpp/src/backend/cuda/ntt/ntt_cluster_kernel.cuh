// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_cluster.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"

/// The kernel of transforms in clusters of blocks, and its launch.
namespace halocline::backend::cuda {

// Kernels exist for other architectures too, without a body: nothing launches them there.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HALOCLINE_NTT_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
#else
#define HALOCLINE_NTT_CLUSTER(blocks)
#endif

extern __shared__ uint4 exchange_area[];

/// Writes words into other blocks' shared memory.
struct cluster_put {
  std::uint32_t area;  ///< of this block

  __device__ void operator()([[maybe_unused]] std::uint32_t rank, [[maybe_unused]] std::uint32_t offset,
                             [[maybe_unused]] std::uint64_t word) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint32_t base;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(base) : "r"(area), "r"(rank));
    asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(base + offset * 8), "l"(word) : "memory");
#endif
  }
};

/// The team of a block: each thread calls for itself.
template <typename ThreadT>
struct cluster_team {
  using thread_type = ThreadT;
  const ThreadT& on;
  std::uint64_t x[ThreadT::words];

  template <typename BodyT>
  __device__ __forceinline__ void alone(const BodyT& body) {
    body(on, x);
  }
  template <typename BodyT>
  __device__ __forceinline__ void each(const BodyT& body) {
    body(on, x);
    __syncthreads();
  }
  template <typename BodyT>
  __device__ __forceinline__ void each_in_row(const BodyT& body) {
    body(on, x);
    __syncwarp();
  }
  __device__ __forceinline__ void arrive() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
#endif
  }
  __device__ __forceinline__ void wait() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
#endif
  }
  [[nodiscard]] __device__ __forceinline__ cluster_put put() const {
    return {static_cast<std::uint32_t>(__cvta_generic_to_shared(exchange_area))};
  }
};

/// `room`: warps that a multiprocessor must have room for.
template <bool inverse, typename S, unsigned room, unsigned sources, typename ParamsT>
__global__ void HALOCLINE_NTT_CLUSTER(S::blocks) __launch_bounds__(S::threads, room * 32 / S::threads)
    cluster_ntt_kernel(const __grid_constant__ ParamsT params) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  using thread = cluster_thread<inverse, S, sources, std::uint64_t, ParamsT>;
  let_next_begin();
  const thread on(params, blockIdx.z, blockIdx.y, blockIdx.x, threadIdx.x,
                  reinterpret_cast<std::uint64_t*>(exchange_area));
  cluster_team<thread> team{on, {}};
  wait_for_previous();
  if (!on.used()) return;  // all blocks of the cluster
  if constexpr (inverse) {
    cluster_inverse_transform(team);
  } else {
    cluster_forward_transform(team);
  }
#endif
}

template <bool inverse, typename S, unsigned room, unsigned sources, typename ParamsT>
void run_cluster(const launcher& launch, ParamsT& params) {
  params.bits = row_stages;
  run_phase(launch, inverse ? "intt_cluster" : "ntt_cluster",
            cluster_ntt_kernel<inverse, S, room, sources, ParamsT>,
            dim3(S::blocks, most_polys(params), params.groups.limbs), dim3(S::threads),
            S::shared_words * sizeof(std::uint64_t), params);
}

}  // namespace halocline::backend::cuda
