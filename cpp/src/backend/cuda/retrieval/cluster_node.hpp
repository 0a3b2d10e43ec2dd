// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/fused_params.hpp"

namespace halocline::backend::cuda {

/// Kernel of a node, or of a pair where `components` is 2, in a cluster of `limbs` blocks of 2^(log_n -
/// cluster_e) threads; see `has_cluster`.
[[nodiscard]] void (*cluster_kernel_of(unsigned components, unsigned log_n,
                                       std::uint32_t limbs))(fused_params);

}  // namespace halocline::backend::cuda
