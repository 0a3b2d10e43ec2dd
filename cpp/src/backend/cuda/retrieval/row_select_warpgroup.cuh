// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/retrieval/row_select_mma.cuh"
#include "backend/cuda/retrieval/row_select_mma_params.hpp"

/// `row_select` of point-major matrices with the matrix instructions of warpgroups (wgmma m64nNk32, unsigned
/// bytes, compute capability 9.0): what a thread does between two waits, for host and device.
///
/// The products are those of `row_select_mma.cuh` with the sides exchanged. The left matrix has selectors: a
/// thread reads two words of one selector for eight rows, and their bytes of S 2^(8a) mod q are the registers
/// of both instructions as they are. Rows g and g + 8 of a warp's part of the first instruction are bytes 0
/// and 1 of the selector g of the warp, those of the second one bytes 2 and 3, so that a thread ends up with
/// whole sums. The right matrix has columns of the database, whose rows follow each other in memory: 128
/// bytes of a column, 32 rows, are a line of the swizzled tile that the instruction reads from shared memory.
///
/// A block takes eight or four neighbouring points one after the other, and keeps their results in shared
/// memory: eight points of a result are a sector of memory.
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

/// Place of 16 bytes in a stage, in words: chunk `chunk` of the line of `column`. Eight lines are an atom of
/// the 128-byte swizzle.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t warpgroup_right_place(std::uint32_t column,
                                                                                  std::uint32_t chunk) {
  return column * 32 + (chunk ^ (column % 8)) * 4;
}

/// Number of a thread's selector within the block.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t warpgroup_selector(std::uint32_t thread) {
  return (ShapeT::wide ? thread % 128 : thread) / 4;
}

/// Words of a query that a step has, at point `point` of the block: 2 r + c is component c of row r of the
/// step.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline const std::uint32_t* warpgroup_source(const row_mma_params& p,
                                                                                 const warpgroup_place& at,
                                                                                 std::uint32_t query,
                                                                                 std::uint32_t point,
                                                                                 std::uint32_t step) {
  const std::size_t row = static_cast<std::size_t>(at.all_points + point) * p.rows + step * warpgroup_rows;
  return p.query[query].selectors + 2 * row;
}
/// How many; a multiple of eight.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t warpgroup_source_words(const row_mma_params& p,
                                                                                std::uint32_t step) {
  const std::uint32_t done = step * warpgroup_rows, left = p.rows > done ? p.rows - done : 0;
  return 2 * (left < warpgroup_rows ? left : warpgroup_rows);
}

/// Reads a thread's words of a stage: word i is row 4 i + thread % 4. Rows that do not exist are anything:
/// those of the database are zero.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void warpgroup_read(const std::uint32_t* left, std::uint32_t thread,
                                                 std::uint32_t (&raw)[8]) {
  const std::uint32_t selector = warpgroup_selector<ShapeT>(thread);
  const std::uint32_t* const from =
      left + selector / 2 * warpgroup_query_pitch + 2 * (thread % 4) + selector % 2;
  HALOCLINE_UNROLL
  for (std::uint32_t i = 0; i < 8; ++i) raw[i] = from[8 * i];
}

/// Registers of the left matrices: [instruction of the step][half of the bytes][register].
using warpgroup_left = std::uint32_t[4][2][4];

HALOCLINE_HOST_DEVICE inline void warpgroup_prepare(const row_mma_prime& q, const std::uint32_t (&raw)[8],
                                                    warpgroup_left& left) {
  HALOCLINE_UNROLL
  for (unsigned j = 0; j < 4; ++j) {
    std::uint32_t low[4], high[4];
    row_mma_shifts(raw[2 * j], q, low);
    row_mma_shifts(raw[2 * j + 1], q, high);
    HALOCLINE_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      left[j][half][0] = low[2 * half];
      left[j][half][1] = low[2 * half + 1];
      left[j][half][2] = high[2 * half];
      left[j][half][3] = high[2 * half + 1];
    }
  }
}

/// Place of a result, in words: points change places by selector, and where there are four of them columns do
/// too, so that the selectors of a warp are in different banks.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t warpgroup_result_place(std::uint32_t selector,
                                                                                   std::uint32_t column,
                                                                                   std::uint32_t point) {
  constexpr std::uint32_t points = ShapeT::points;
  const std::uint32_t line = column ^ (points == 4 ? selector / 4 % 2 : 0);
  return (selector * ShapeT::columns + line) * points + (point ^ (selector % points));
}

/// Puts a thread's results of a point into `results`: entry 4 i + e (+ 2) of each half is byte 2 half (+ 1)
/// of column 8 i + 2 (thread % 4) + e of its warpgroup, for e < 2.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void warpgroup_put(const row_mma_prime& q, std::uint32_t thread,
                                                std::uint32_t point,
                                                const std::uint32_t (&sums)[2][ShapeT::sums],
                                                std::uint32_t* results) {
  const std::uint32_t selector = warpgroup_selector<ShapeT>(thread);
  const std::uint32_t first = (ShapeT::wide ? thread / 128 * ShapeT::n : 0) + 2 * (thread % 4);
  HALOCLINE_UNROLL
  for (std::uint32_t i = 0; i < ShapeT::sums / 4; ++i) {
    HALOCLINE_UNROLL
    for (std::uint32_t e = 0; e < 2; ++e) {
      results[warpgroup_result_place<ShapeT>(selector, first + 8 * i + e, point)] = row_mma_reduce(
          sums[0][4 * i + e], sums[0][4 * i + 2 + e], sums[1][4 * i + e], sums[1][4 * i + 2 + e], q);
    }
  }
}

/// Stores the block's results, four points a thread.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void warpgroup_store(const row_mma_params& p, const warpgroup_place& at,
                                                  std::uint32_t thread, const std::uint32_t* results) {
  constexpr std::uint32_t parts = ShapeT::points / 4;
  const std::uint32_t half = thread % parts * 4;
  for (std::uint32_t each = thread / parts; each < ShapeT::selectors * ShapeT::columns;
       each += warpgroup_threads / parts) {
    const std::uint32_t local = each / ShapeT::columns, selector = at.first_selector + local;
    const std::uint32_t column = at.first_column + each % ShapeT::columns;
    if (selector >= 2 * p.queries) break;
    if (column >= p.columns) continue;
    const row_mma_query& query = p.query[selector / 2];
    const std::size_t limb =
        static_cast<std::size_t>(column) * query.stride + selector % 2 * p.limbs + at.limb;
    pack<std::uint32_t> points;
    HALOCLINE_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
      points.word[i] = results[warpgroup_result_place<ShapeT>(local, each % ShapeT::columns, half + i)];
    }
    *reinterpret_cast<pack<std::uint32_t>*>(query.dst + (limb << p.log_n) + at.point + half) = points;
  }
}

}  // namespace halocline::backend::cuda
