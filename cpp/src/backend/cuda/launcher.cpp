// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/launcher.hpp"

#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {

void launcher::launch(const kernel_launch& each) const {
  launch_observer* const observer = device_.observer();
  if (observer != nullptr && !observer->begin(each)) return;
  void* arguments[] = {const_cast<void*>(each.params)};
  const cudaError_t state =
      cudaLaunchKernel(each.function, each.grid, each.block, arguments, each.shared_bytes, device_.compute());
  if (state != cudaSuccess) [[unlikely]]
    check(state, text(each.op, " (kernel ", each.name, ")"));
  if (observer != nullptr) observer->end(each);
}

}  // namespace halocline::backend::cuda
