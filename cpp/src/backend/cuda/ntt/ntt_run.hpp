// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/launcher.hpp"

/// What all launches of transforms share.
namespace halocline::backend::cuda {

/// Most polynomials of a group of the batch.
template <typename ParamsT>
[[nodiscard]] unsigned most_polys(const ParamsT& params) {
  std::uint32_t most = 1;
  for (std::uint32_t g = 0; g < params.groups.jobs; ++g) {
    if (params.groups.items[g].polys > most) most = params.groups.items[g].polys;
  }
  return most;
}

/// Requests once as much shared memory as a multiprocessor has. It divides its memory between first-level
/// cache and shared memory in one way at a time, so blocks of the rows kernel can begin beside the last
/// blocks of the columns kernel only where both make it choose the same division.
template <typename ParamsT>
void prefer_shared(const launcher& launch, void (*kernel)(ParamsT)) {
  const auto* const function = reinterpret_cast<const void*>(kernel);
  if (!launch.device().is_new(function)) return;
  check(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared),
        "prefer shared memory");
}

/// Launches a kernel; raises its limit where a block needs more shared memory than every kernel may have.
template <typename ParamsT>
void run_phase(const launcher& launch, const char* name, void (*kernel)(ParamsT), dim3 grid, dim3 block,
               std::size_t shared, const ParamsT& params) {
  if (shared > 48 * 1024) {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          name);
  }
  launch(name, kernel, grid, block, shared, params);
}

}  // namespace halocline::backend::cuda
