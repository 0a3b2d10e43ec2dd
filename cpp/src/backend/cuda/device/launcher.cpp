// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/launcher.hpp"

#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {

cudaError_t launch_kernel(const device_context& device, const void* function, dim3 grid, dim3 block,
                          std::size_t shared_bytes, const void* params) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = device.compute();
  config.attrs = &overlap;
  config.numAttrs = overlaps_kernels(device) ? 1 : 0;
  void* arguments[] = {const_cast<void*>(params)};
  return cudaLaunchKernelExC(&config, function, arguments);
}

void launcher::launch(const kernel_launch& each) const {
  launch_observer* const observer = device_.observer();
  if (observer != nullptr && !observer->begin(each)) return;
  const cudaError_t state =
      launch_kernel(device_, each.function, each.grid, each.block, each.shared_bytes, each.params);
  if (state != cudaSuccess) [[unlikely]]
    check(state, text(each.op, " (kernel ", each.name, ")"));
  if (observer != nullptr) observer->end(each);
}

}  // namespace halocline::backend::cuda
