// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "backend/cuda/retrieval/fused_launch.cuh"
#include "backend/cuda/retrieval/fused_tree.cuh"

namespace halocline::backend::cuda {
namespace {

template <typename ShapeT, unsigned threads, unsigned blocks>
__global__ void __launch_bounds__(threads, blocks) tree_kernel(const __grid_constant__ fused_params p) {
  begin_kernel();
  const auto on = fused_find<ShapeT>(p, blockIdx.x, reinterpret_cast<std::uint32_t*>(fused_shared));
  device_team<ShapeT> team;
  fused_select_tree(on, team);
}

/// As the kernels of single selections; a ciphertext in shared memory leaves room for two blocks of N = 2^11.
template <unsigned e, unsigned k, bool staged>
fused_function kernel_of(bool inner) {
  constexpr unsigned threads = k != 0 ? 1U << (k - e) : most_fused_threads;
  constexpr unsigned blocks = fused_blocks(e, k, 2);
  if constexpr (blocks > 2) {
    if (inner) return tree_kernel<fused_shape<e, k, 2, staged>, threads, 2>;
  }
  return tree_kernel<fused_shape<e, k, 2, staged>, threads, blocks>;
}
template <bool staged>
fused_function kernel_of(unsigned e, unsigned log_n, bool inner) {
  if (log_n == 11 && e == 3) return kernel_of<3, 11, staged>(inner);
  if (log_n == 12 && e == 3) return kernel_of<3, 12, staged>(inner);
  return kernel_of<4, 0, staged>(inner);
}

void select_tree(const executor<std::uint32_t>& on, std::span<const select_tree_job> jobs) {
  constexpr const char* name = "select_tree";
  const device_context& device = on.launch.device();
  const auto limbs = static_cast<std::uint32_t>(on.resolve.ring().primes.size());
  const unsigned log_n = on.resolve.log_n();
  const fused_choice choice = choose_tree(device.architecture(), log_n, limbs);
  const std::uint32_t bytes = fused_shared_bytes(choice.e, 2, limbs, log_n, choice.staged, choice.inner);
  check_fused(name, device.architecture(), choice, log_n, limbs, bytes);
  const fused_function kernel = choice.staged ? kernel_of<true>(choice.e, log_n, choice.inner)
                                              : kernel_of<false>(choice.e, log_n, choice.inner);
  prefer_shared(on.launch, kernel);
  plan_fused<select_tree_job>(on.resolve, jobs, [&](fused_params& p) {
    p.inner = choice.inner;
    run_phase(on.launch, name, kernel, dim3(p.blocks()), dim3(1U << (log_n - choice.e)), bytes, p);
  });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> tree_retrieval_operations() {
  if constexpr (std::is_same_v<WordT, std::uint32_t>) {
    return op_table<executor<WordT>>{row<select_tree>(ops::select_tree)};
  } else {
    return op_table<executor<WordT>>{};
  }
}

template op_table<executor<std::uint32_t>> tree_retrieval_operations();
template op_table<executor<std::uint64_t>> tree_retrieval_operations();

}  // namespace halocline::backend::cuda
