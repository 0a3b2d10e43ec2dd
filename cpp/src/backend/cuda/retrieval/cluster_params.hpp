// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/fused_params.hpp"

/// What kernels share that compute a node in a cluster of blocks, one block for each prime.
namespace halocline::backend::cuda {

/// Words per thread, as a power of two.
inline constexpr unsigned cluster_e = 3;

/// What is known when a kernel is compiled, as `fused_shape`; all primes are below 2^(32 - headroom).
template <unsigned log_n, unsigned parts, unsigned bits>
struct cluster_shape : fused_shape<cluster_e, log_n, parts, false> {
  static constexpr unsigned headroom = bits;
};

/// Kernels exist for primes below 2^30, 2^29 and 2^27: the smaller they are, the fewer reductions a transform
/// needs.
[[nodiscard]] constexpr unsigned cluster_headroom(std::uint64_t largest_prime) {
  return largest_prime < std::uint64_t{1} << 27 ? 5 : largest_prime < std::uint64_t{1} << 29 ? 3 : 2;
}

/// Transformed words are below 2^31, so a product is below q 2^31: this many have room in a sum that can be
/// normalised, and a normalised sum is as large as this many.
inline constexpr std::uint32_t cluster_products_per_sum = 8, cluster_products_per_reduction = 2;

/// Rings that have such kernels: 2^11 or 2^12 coefficients, two or four primes, compute capability 9.0.
[[nodiscard]] constexpr bool has_cluster(int architecture, unsigned log_n, std::uint32_t limbs) {
  return architecture >= 90 && (log_n == 11 || log_n == 12) && (limbs == 2 || limbs == 4);
}

/// Words of two barriers in shared memory, in front of the rest.
inline constexpr std::uint32_t cluster_barrier_words = 4;

/// Words of shared memory of a block: barriers, coefficients of its limb of `components` polynomials, two
/// areas for exchanges within transforms and, where limbs have several digits, coefficients of another
/// block's limb.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t cluster_shared_words(unsigned components,
                                                                                 unsigned log_n,
                                                                                 std::uint32_t digits) {
  return cluster_barrier_words + ((components + 2 + (digits > 1 ? 1U : 0U)) << log_n) +
         2 * exchange_words(log_n, cluster_e);
}

/// Nodes that a cluster computes one after the other: its blocks set up their barriers once, and the
/// first-level cache loses its lines then. Each place on the card has four clusters at least, so that the
/// last ones end at about the same time.
[[nodiscard]] constexpr std::uint32_t cluster_run(std::uint32_t nodes, std::uint32_t places) {
  const std::uint32_t run = nodes / (4 * places);
  return run < 1 ? 1 : run < 16 ? run : 16;
}

/// Blocks that a multiprocessor must have room for: 32 warps, and 24 for selections with N = 2^11.
[[nodiscard]] constexpr unsigned cluster_blocks(unsigned log_n, unsigned components) {
  return log_n == 12 ? 2 : components == 1 ? 4 : 3;
}

}  // namespace halocline::backend::cuda
