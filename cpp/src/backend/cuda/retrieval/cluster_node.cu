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
  /// The same where nothing was written: what was read is used, so it is here.
  __device__ __forceinline__ void arrive_reads() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
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
  HALOCLINE_NO_UNROLL
  for (std::uint32_t each = 0; each < limbs; ++each) {
    if (each == 1) team.wait();
    cluster_limb(on, team, at, each);
  }
  team.arrive_reads();
  cluster_end(on, team);
  team.wait();
#endif
}

using cluster_function = void (*)(fused_params);

template <unsigned k, unsigned components, unsigned headroom>
cluster_function kernel_of(std::uint32_t limbs) {
  using shape = cluster_shape<k, components, headroom>;
  return limbs == 2 ? cluster_kernel<shape, 2> : cluster_kernel<shape, 4>;
}
template <unsigned k, unsigned components>
cluster_function kernel_of(std::uint32_t limbs, unsigned headroom) {
  if (headroom == 5) return kernel_of<k, components, 5>(limbs);
  return headroom == 3 ? kernel_of<k, components, 3>(limbs) : kernel_of<k, components, 2>(limbs);
}

}  // namespace

void (*cluster_kernel_of(const cluster_ring& ring, unsigned components))(fused_params) {
  if (components == 1) {
    return ring.log_n == 11 ? kernel_of<11, 1>(ring.limbs, ring.headroom)
                            : kernel_of<12, 1>(ring.limbs, ring.headroom);
  }
  return ring.log_n == 11 ? kernel_of<11, 2>(ring.limbs, ring.headroom)
                          : kernel_of<12, 2>(ring.limbs, ring.headroom);
}

}  // namespace halocline::backend::cuda
