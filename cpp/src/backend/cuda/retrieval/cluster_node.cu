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
template <typename ShapeT, unsigned limbs>
struct cluster_team {
  fused_state<ShapeT> own;
  std::uint32_t barriers;    ///< address in shared memory
  std::uint32_t parity = 0;  ///< of the phase that both barriers are in

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
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  /// Once, before anything else. Barriers of the cluster are those of shared memory: `barrier.cluster` waits
  /// for writes to device memory as well, and empties the first-level cache.
  __device__ __forceinline__ void set_up() const {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barriers), "r"(limbs) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barriers + 8), "r"(limbs) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
  }
  /// Thread t arrives in block t for the whole block.
  __device__ __forceinline__ void arrive(std::uint32_t barrier) const {
    if (threadIdx.x >= limbs) return;
    std::uint32_t at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(barrier), "r"(threadIdx.x));
    asm volatile("fence.release.sync_restrict::shared::cta.cluster;" : : : "memory");
    asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" : : "r"(at) : "memory");
  }
  __device__ __forceinline__ void wait(std::uint32_t barrier) const {
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{\n.reg .pred done;\n"
          "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 done, [%1], %2;\n"
          "selp.u32 %0, 1, 0, done;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    }
    asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" : : : "memory");
  }
  __device__ __forceinline__ void ready() const {
    __syncthreads();
    arrive(barriers);
  }
  __device__ __forceinline__ void wait_ready() const { wait(barriers); }
  __device__ __forceinline__ void read() const { arrive(barriers + 8); }
  __device__ __forceinline__ void wait_read() {
    wait(barriers + 8);
    parity ^= 1;
  }
#endif
};

extern __shared__ uint4 cluster_shared[];

template <typename ShapeT, unsigned limbs>
__global__ void HALOCLINE_CLUSTER(limbs)
    __launch_bounds__(1U << (ShapeT::k - ShapeT::e), cluster_blocks(ShapeT::k, ShapeT::components))
        cluster_kernel(const __grid_constant__ fused_params p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  begin_kernel();
  auto* const shared = reinterpret_cast<std::uint32_t*>(cluster_shared);
  cluster_team<ShapeT, limbs> team;
  team.barriers = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  team.set_up();
  cluster_nodes<ShapeT>(p, blockIdx.x, shared, nullptr, team);
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
