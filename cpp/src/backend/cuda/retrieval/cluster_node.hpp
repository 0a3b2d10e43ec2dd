// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/fused_params.hpp"

namespace halocline::backend::cuda {

/// What decides which kernel a ring takes; see `has_cluster` and `cluster_headroom`.
struct cluster_ring {
  unsigned log_n;
  std::uint32_t limbs;
  unsigned headroom;
};

/// Kernel of a node, or of a pair where `components` is 2, in a cluster of a block of 2^(log_n - cluster_e)
/// threads for each limb.
[[nodiscard]] void (*cluster_kernel_of(const cluster_ring& ring, unsigned components))(fused_params);

}  // namespace halocline::backend::cuda
