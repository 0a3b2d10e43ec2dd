// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/retrieval/cluster_node.hpp"

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/retrieval/cluster_node.cuh"

// Kernels exist for other architectures too, without a body: nothing launches them there.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HALOCLINE_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
#else
#define HALOCLINE_CLUSTER(blocks)
#endif

namespace halocline::backend::cuda {
namespace {

/// The team of a block of a cluster: each thread calls for itself.
template <typename ShapeT>
struct cluster_team {
  fused_state<ShapeT> own;

  template <typename BodyT>
  __device__ __forceinline__ void each(unsigned group, const BodyT& body) {
    body(threadIdx.x, own);
    if (group <= 32) {
      __syncwarp();
    } else if (group == 1U << (ShapeT::k - ShapeT::e)) {
      __syncthreads();
    } else {  // barrier 0 is that of the block
      asm volatile("bar.sync %0, %1;" : : "r"(1 + threadIdx.x / group), "r"(group) : "memory");
    }
  }
  template <typename BodyT>
  __device__ __forceinline__ void each_alone(const BodyT& body) {
    body(threadIdx.x, own);
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
};

extern __shared__ uint4 cluster_shared[];

template <typename ShapeT, unsigned limbs>
__global__ void HALOCLINE_CLUSTER(limbs)
    __launch_bounds__(1U << (ShapeT::k - ShapeT::e), cluster_blocks(ShapeT::k))
        cluster_kernel(const __grid_constant__ fused_params p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  begin_kernel();
  const auto on =
      cluster_find<ShapeT>(p, blockIdx.x, reinterpret_cast<std::uint32_t*>(cluster_shared), nullptr);
  cluster_team<ShapeT> team;
  cluster_progress at;
  cluster_begin(on, team, at);
  team.arrive();
  cluster_limbs(on, team, at, false);
  team.wait();
  cluster_limbs(on, team, at, true);
  team.arrive();
  cluster_end(on, team);
  team.wait();
#endif
}

using cluster_function = void (*)(fused_params);

template <unsigned components, unsigned k>
cluster_function kernel_of(std::uint32_t limbs) {
  using shape = fused_shape<cluster_e, k, components, false>;
  return limbs == 2 ? cluster_kernel<shape, 2> : cluster_kernel<shape, 4>;
}

}  // namespace

void (*cluster_kernel_of(unsigned components, unsigned log_n, std::uint32_t limbs))(fused_params) {
  if (components == 1) return log_n == 11 ? kernel_of<1, 11>(limbs) : kernel_of<1, 12>(limbs);
  return log_n == 11 ? kernel_of<2, 11>(limbs) : kernel_of<2, 12>(limbs);
}

}  // namespace halocline::backend::cuda
