// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/row_select_params.hpp"

namespace halocline::backend::cuda {

/// Choices of the kernels of private retrieval that change speed and nothing else.
struct retrieval_tuning {
  std::uint32_t threads = 256;        ///< of a block of an elementwise kernel
  bool near_twiddles = false;         ///< transforms: quotients of twiddles come through shared memory
  std::uint32_t transform_polys = 4;  ///< most polynomials that a block transforms one after the other
  /// Blocks per multiprocessor that a transform should have before blocks take several polynomials.
  std::uint32_t transform_blocks = 32;
  /// Least queries of a launch for which the shapes with two, four and eight queries in a block are used; 0:
  /// never. Where there is none, queries are padded to whole blocks.
  std::uint32_t two_queries = 2, four_queries = 3, eight_queries = 5;
};

/// Row of the table for an architecture (90 for compute capability 9.0), unless a benchmark has set another.
[[nodiscard]] const retrieval_tuning& retrieval_tuning_of(int architecture) noexcept;

/// For benchmarks: replaces the choices for all architectures; nullptr: back to the table. Not thread-safe.
void override_retrieval_tuning(const retrieval_tuning* tuning) noexcept;

/// Shape for a launch of `queries`: the largest one that is allowed and does not pad more queries than a
/// smaller one that is allowed.
[[nodiscard]] row_shape row_shape_for(const retrieval_tuning& tuning, std::uint32_t queries) noexcept;

}  // namespace halocline::backend::cuda
