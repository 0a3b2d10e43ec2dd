// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "backend/cuda/retrieval/cluster_node.hpp"
#include "backend/cuda/retrieval/fused_launch.cuh"
#include "backend/cuda/retrieval/fused_node.cuh"

namespace halocline::backend::cuda {
namespace {

template <typename ShapeT, unsigned threads, unsigned blocks>
__global__ void __launch_bounds__(threads, blocks) fused_kernel(const __grid_constant__ fused_params p) {
  begin_kernel();
  const auto on = fused_find<ShapeT>(p, blockIdx.x, reinterpret_cast<std::uint32_t*>(fused_shared));
  device_team<ShapeT> team;
  if constexpr (ShapeT::components == 1) {
    fused_expand(on, team);
  } else {
    fused_select(on, team);
  }
}

/// Kernel for log2 N = `k` (0: any, with as many threads as a block may have).
template <unsigned e, unsigned k, unsigned components, bool staged>
fused_function kernel_of() {
  constexpr unsigned threads = k != 0 ? 1U << (k - e) : most_fused_threads;
  return fused_kernel<fused_shape<e, k, components, staged>, threads, fused_blocks(e, k, components)>;
}
template <unsigned components, bool staged>
fused_function kernel_of(unsigned e, unsigned log_n) {
  if (log_n == 11)
    return e == 4 ? kernel_of<4, 11, components, staged>() : kernel_of<3, 11, components, staged>();
  if (log_n == 12)
    return e == 4 ? kernel_of<4, 12, components, staged>() : kernel_of<3, 12, components, staged>();
  return kernel_of<4, 0, components, staged>();
}

/// Requests `bytes` of shared memory of a multiprocessor, and leaves the rest to the first-level cache: rows
/// and twiddles come through it.
void share_memory(const launcher& launch, fused_function kernel, std::uint32_t bytes) {
  const auto* const function = reinterpret_cast<const void*>(kernel);
  if (!launch.device().is_new(function)) return;
  const std::uint32_t percent = std::min(100U, bytes / (228 * 1024 / 100) + 2);
  check(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                             static_cast<int>(percent)),
        "share memory");
}

/// Nodes in clusters of blocks, one for each prime.
template <unsigned components, typename JobT>
void run_cluster(const executor<std::uint32_t>& on, const char* name, std::span<const JobT> jobs) {
  const unsigned log_n = on.resolve.log_n();
  const fused_function kernel =
      cluster_kernel_of(components, log_n, static_cast<std::uint32_t>(on.resolve.ring().primes.size()));
  plan_fused<JobT>(on.resolve, jobs, [&](fused_params& p) {
    const std::uint32_t bytes = 4 * cluster_shared_words(components, log_n, p.digits);
    share_memory(on.launch, kernel, bytes * cluster_blocks(log_n));
    p.targets = 1;
    run_phase(on.launch, name, kernel, dim3(p.blocks()), dim3(1U << (log_n - cluster_e)), bytes, p);
  });
}

template <unsigned components, typename JobT>
void run_fused(const executor<std::uint32_t>& on, const char* name, std::span<const JobT> jobs) {
  const device_context& device = on.launch.device();
  const auto limbs = static_cast<std::uint32_t>(on.resolve.ring().primes.size());
  const unsigned log_n = on.resolve.log_n();
  const fused_choice choice = choose_fused(device.architecture(), components, log_n, limbs);
  if (choice.cluster) return run_cluster<components>(on, name, jobs);
  const std::uint32_t bytes = fused_shared_bytes(choice.e, components, limbs, log_n, choice.staged);
  check_fused(name, device.architecture(), choice, log_n, limbs, bytes);
  const fused_function kernel = choice.staged ? kernel_of<components, true>(choice.e, log_n)
                                              : kernel_of<components, false>(choice.e, log_n);
  prefer_shared(on.launch, kernel);
  const auto units = static_cast<std::uint32_t>(device.multiprocessors());
  plan_fused<JobT>(on.resolve, jobs, [&](fused_params& p) {
    p.targets = components == 1 ? fused_targets(choice, p.nodes, limbs, units) : limbs;
    run_phase(on.launch, name, kernel, dim3(p.blocks()), dim3(1U << (log_n - choice.e)), bytes, p);
  });
}

void expand_node(const executor<std::uint32_t>& on, std::span<const expand_job> jobs) {
  run_fused<1>(on, "expand_node", jobs);
}
void select_pair(const executor<std::uint32_t>& on, std::span<const select_job> jobs) {
  run_fused<2>(on, "select_pair", jobs);
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> fused_retrieval_operations() {
  if constexpr (std::is_same_v<WordT, std::uint32_t>) {
    return op_table<executor<WordT>>{
        row<expand_node>(ops::expand_node),
        row<select_pair>(ops::select_pair),
    };
  } else {
    return op_table<executor<WordT>>{};
  }
}

template op_table<executor<std::uint32_t>> fused_retrieval_operations();
template op_table<executor<std::uint64_t>> fused_retrieval_operations();

}  // namespace halocline::backend::cuda
