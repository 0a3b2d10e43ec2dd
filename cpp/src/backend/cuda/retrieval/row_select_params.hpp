// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/retrieval_params.hpp"

/// Shapes and parameters of the kernels of `row_select` with 32-bit multiply-adds: for each prime and point a
/// product of the matrix of the database (columns x rows) and that of the selectors (rows x 2 per query).
namespace halocline::backend::cuda {

/// A warp computes `columns` x `selectors` sums for each of its 32 points, one point per lane; a block has
/// `across` x `down` warps (columns x selectors). `depth` rows are in a stage of shared memory, of which
/// there are `stages`; all but one of them are being filled.
template <unsigned column_count, unsigned selector_count, unsigned warps_across, unsigned warps_down,
          unsigned row_count, unsigned stage_count>
struct row_tile {
  static constexpr std::uint32_t columns = column_count, selectors = selector_count;
  static constexpr std::uint32_t across = warps_across, down = warps_down;
  static constexpr std::uint32_t depth = row_count, stages = stage_count;
  static constexpr std::uint32_t warps = across * down, threads = 32 * warps;
  static constexpr std::uint32_t block_columns = columns * across;
  static constexpr std::uint32_t block_selectors = selectors * down;
  static constexpr std::uint32_t points = 32;
  /// Words of a stage that belong to a column or a query, which follow each other in memory.
  static constexpr std::uint32_t column_words = depth * points, query_words = 2 * column_words;
  static_assert(warps % (column_words / 128) == 0 && warps % (query_words / 128) == 0);
  static_assert(block_columns % (warps / (column_words / 128)) == 0 && selectors % 2 == 0);
  static constexpr std::uint32_t database_words = block_columns * depth * points;
  static constexpr std::uint32_t stage_words = database_words + block_selectors * depth * points;
  static constexpr std::uint32_t shared_bytes = 4 * stages * stage_words;
  static_assert(shared_bytes <= 99 * 1024, "what every card of compute capability 8.0 or newer has");
};

/// Row tiles that kernels exist for.
enum class row_shape : std::uint32_t { one_query, two_queries, four_queries, eight_queries };
using one_query_tile = row_tile<8, 2, 4, 1, 8, 2>;
using two_query_tile = row_tile<8, 4, 4, 1, 8, 2>;
using four_query_tile = row_tile<8, 8, 4, 1, 8, 2>;
using eight_query_tile = row_tile<8, 8, 2, 2, 8, 2>;

/// Calls `run(tile)` with the tile of a shape.
template <typename RunT>
void with_row_tile(row_shape shape, const RunT& run) {
  switch (shape) {
    case row_shape::one_query:
      return run(one_query_tile{});
    case row_shape::two_queries:
      return run(two_query_tile{});
    case row_shape::four_queries:
      return run(four_query_tile{});
    case row_shape::eight_queries:
      return run(eight_query_tile{});
  }
}

/// Queries of one launch.
inline constexpr unsigned row_queries = 64;

/// Most queries of a block.
inline constexpr unsigned most_row_queries = 8;

struct row_query_item {
  const std::uint32_t* selectors = nullptr;
  words_of_array dst;
};

struct row_select_params {
  const arith::modulus<std::uint32_t>* moduli = nullptr;
  const std::uint32_t* database = nullptr;
  std::uint32_t log_n = 0;
  std::uint32_t limbs = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t queries = 0;
  row_query_item items[row_queries + most_row_queries] = {};  ///< a block may read behind the last one
};

/// Blocks of a launch: one for each tile of selectors (fastest), tile of columns, and block of points.
struct row_grid {
  std::uint32_t selector_tiles, column_tiles, point_blocks;

  template <typename TileT>
  [[nodiscard]] HALOCLINE_HOST_DEVICE static row_grid of(const row_select_params& p, TileT) {
    return {(2 * p.queries + TileT::block_selectors - 1) / TileT::block_selectors,
            (p.columns + TileT::block_columns - 1) / TileT::block_columns,
            (p.limbs << p.log_n) / TileT::points};
  }
};

}  // namespace halocline::backend::cuda
