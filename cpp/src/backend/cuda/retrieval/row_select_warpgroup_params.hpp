// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/retrieval/row_select_mma_params.hpp"

/// Shapes of `row_select` with the matrix instructions of warpgroups, and what a block works on.
namespace halocline::backend::cuda {

/// Threads of a block that multiply: two warpgroups. Further warps ask for copies.
inline constexpr std::uint32_t warpgroup_threads = 256;
/// Rows of a stage: 128 bytes of each column, four instructions.
inline constexpr std::uint32_t warpgroup_rows = 32;
/// Words between the selectors of two queries in a stage: 32 rows of two components, and eight words more, so
/// that the four queries that a warp reads at once are in different banks.
inline constexpr std::uint32_t warpgroup_query_pitch = 2 * warpgroup_rows + 8;

/// `tile` columns for each warpgroup, and 32 selectors. `wide`: both have the same selectors and different
/// columns; otherwise the same columns and different selectors.
template <unsigned tile, bool is_wide>
struct warpgroup_shape {
  static constexpr unsigned n = tile;
  static constexpr bool wide = is_wide;
  static constexpr std::uint32_t columns = wide ? 2 * n : n, selectors = wide ? 32 : 64;
  static constexpr std::uint32_t sums = n / 2;             ///< of a thread, for each of two instructions
  static constexpr std::uint32_t points = n > 64 ? 4 : 8;  ///< as many as there is room for results
  static constexpr std::uint32_t stages = n == 128 ? 3 : wide ? 4 : 5;
  /// Words of a stage: those of the database, and those of the selectors.
  static constexpr std::uint32_t right_words = columns * warpgroup_rows;
  static constexpr std::uint32_t left_words = selectors / 2 * warpgroup_query_pitch;
  static constexpr std::uint32_t result_words = columns * selectors * points;
  /// Stages, results, and a pair of barriers for each stage.
  static constexpr std::uint32_t shared_bytes =
      4 * (stages * (right_words + left_words) + result_words) + 16 * stages;
  static_assert(n % 32 == 0 && shared_bytes <= 227 * 1024);
};

/// Most queries whose selectors are those of one warpgroup.
inline constexpr std::size_t most_wide_queries = 16;

/// Cycles of a step, relative to each other, for tiles of 32, 64, 96 and 128 columns: with few columns, what
/// making the left matrices takes.
inline constexpr std::uint32_t warpgroup_costs[] = {12, 12, 13, 14};

/// Columns of a warpgroup for a job: what takes least. `wide` tiles have up to 64: results of more would
/// leave no room for stages.
[[nodiscard]] constexpr unsigned warpgroup_tile(std::uint32_t columns, bool wide) {
  unsigned best = 32;
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned n = 32; n <= (wide ? 64U : 128U); n += 32) {
    const std::uint32_t tile = wide ? 2 * n : n;
    const std::uint64_t cost = std::uint64_t{(columns + tile - 1) / tile} * warpgroup_costs[n / 32 - 1];
    if (cost < least) {
      least = cost;
      best = n;
    }
  }
  return best;
}

/// Steps of a job: stages, an even number, because the kernel takes two at a time.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t warpgroup_steps(std::uint32_t rows) {
  return (rows + 2 * warpgroup_rows - 1) / (2 * warpgroup_rows) * 2;
}

/// What a block works on.
struct warpgroup_place {
  std::uint32_t limb;
  std::uint32_t point;       ///< first one, within the limb
  std::uint32_t all_points;  ///< first one, of all limbs
  std::uint32_t first_column, first_selector;
};

template <typename ShapeT>
[[nodiscard]] inline std::uint32_t warpgroup_blocks(const row_mma_params& p) {
  return (p.limbs << p.log_n) / ShapeT::points * p.column_tiles * p.selector_tiles;
}

/// Blocks that read the same words of the database follow each other.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline warpgroup_place warpgroup_find(const row_mma_params& p,
                                                                          std::uint32_t block) {
  warpgroup_place at{};
  at.first_selector = block % p.selector_tiles * ShapeT::selectors;
  block /= p.selector_tiles;
  at.first_column = block % p.column_tiles * ShapeT::columns;
  at.all_points = block / p.column_tiles * ShapeT::points;
  at.limb = at.all_points >> p.log_n;
  at.point = at.all_points - (at.limb << p.log_n);
  return at;
}

}  // namespace halocline::backend::cuda
