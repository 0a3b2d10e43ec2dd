// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/retrieval_tuning.hpp"
#include "backend/cuda/retrieval/row_select.cuh"
#include "backend/cuda/retrieval/row_select_launch.hpp"
#include "backend/cuda/retrieval/row_select_plan.hpp"

namespace halocline::backend::cuda {
namespace {

extern __shared__ uint4 row_stages[];

/// Two blocks per multiprocessor: up to 255 registers, of which 128 are sums.
template <typename TileT>
__global__ void __launch_bounds__(TileT::threads, 2)
    row_select_kernel(const __grid_constant__ row_select_params p) {
  begin_kernel();
  row_select_body<TileT>(p, block_team{}, blockIdx.x, reinterpret_cast<std::uint32_t*>(row_stages));
}

}  // namespace

void run_row_select(const executor<std::uint32_t>& on, std::span<const row_select_job> jobs) {
  const retrieval_tuning& tuning = retrieval_tuning_of(on.launch.device().architecture());
  for (const row_select_job& job : jobs) {
    plan_row_select(on.resolve, job, [&](const row_select_params& p) {
      with_row_tile(row_shape_for(tuning, p.queries), [&](auto tile) {
        using shape = decltype(tile);
        const row_grid grid = row_grid::of(p, tile);
        prefer_shared(on.launch, row_select_kernel<shape>);
        run_phase(on.launch, "row_select", row_select_kernel<shape>,
                  dim3(grid.selector_tiles * grid.column_tiles * grid.point_blocks), dim3(shape::threads),
                  shape::shared_bytes, p);
      });
    });
  }
}

}  // namespace halocline::backend::cuda
