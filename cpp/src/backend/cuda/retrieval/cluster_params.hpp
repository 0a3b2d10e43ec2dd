// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/fused_params.hpp"

/// What kernels share that compute a node in a cluster of blocks, one block for each prime.
namespace halocline::backend::cuda {

/// Words per thread, as a power of two.
inline constexpr unsigned cluster_e = 3;

/// Rings that have such kernels: 2^11 or 2^12 coefficients, two or four primes, compute capability 9.0.
[[nodiscard]] constexpr bool has_cluster(int architecture, unsigned log_n, std::uint32_t limbs) {
  return architecture >= 90 && (log_n == 11 || log_n == 12) && (limbs == 2 || limbs == 4);
}

/// Words of shared memory of a block: coefficients of its limb of `components` polynomials, two areas for
/// exchanges within transforms and, where limbs have several digits, coefficients of another block's limb.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t cluster_shared_words(unsigned components,
                                                                                 unsigned log_n,
                                                                                 std::uint32_t digits) {
  return ((components + (digits > 1 ? 1U : 0U)) << log_n) + 2 * exchange_words(log_n, cluster_e);
}

/// Blocks that a multiprocessor must have room for: 32 warps.
[[nodiscard]] constexpr unsigned cluster_blocks(unsigned log_n) { return log_n == 11 ? 4 : 2; }

}  // namespace halocline::backend::cuda
