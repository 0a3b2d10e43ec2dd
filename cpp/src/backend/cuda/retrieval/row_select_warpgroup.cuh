// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/retrieval/row_select_mma.cuh"
#include "backend/cuda/retrieval/row_select_warpgroup_params.hpp"

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
