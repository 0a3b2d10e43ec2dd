// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/elementwise/elementwise.cuh"

namespace halocline::backend::cuda {

/// Choices of the elementwise, conversion and key kernels that change speed and nothing else.
struct kernel_tuning {
  /// Hints of operations on at most `cached_bytes`, which a repetition finds in the second-level cache.
  map_hints small;
  /// Hints of larger elementwise operations and tensor products.
  map_hints large;
  std::uint64_t cached_bytes = std::uint64_t{50} << 20;
  cache_hint keys = cache_hint::evict_first;  ///< halves of keys
  std::uint32_t threads = 256;                ///< of a block of an elementwise kernel
  std::uint32_t packs = 2;   ///< 1 or 2: packs of 16 bytes per thread of an elementwise kernel
  bool key_rows = false;     ///< second phase of the transform of digits within their key product
  bool pipe_key_dot = true;  ///< weighted sums of key products by way of shared memory, where the card can
  bool convert_tensor_cores = true;  ///< base conversion of 32-bit words with matrix instructions
  cache_hint convert_store = cache_hint::normal;
  /// Blocks per multiprocessor that a conversion should have before blocks get larger.
  std::uint32_t convert_blocks_per_unit = 3;
};

/// Row of the table for an architecture (90 for compute capability 9.0), unless a benchmark has set another.
[[nodiscard]] const kernel_tuning& tuning_of(int architecture) noexcept;

/// For benchmarks: replaces the choices for all architectures; nullptr: back to the table. Not thread-safe.
void override_tuning(const kernel_tuning* tuning) noexcept;

}  // namespace halocline::backend::cuda
