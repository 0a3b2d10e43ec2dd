// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/retrieval/row_select_mma_bytes.cuh"
#include "backend/cuda/retrieval/row_select_mma_params.hpp"

/// `row_select` with integer matrix instructions (mma.m16n8k32, unsigned bytes): the steps of a block between
/// two barriers, for host and device.
///
/// For each point, the left matrix has the database's columns as its rows, and the four bytes of a database
/// word are four entries of a row, so that the words are its registers as they are. The right matrix has, for
/// row r, byte a of the database word and a selector S, the four bytes b of S 2^(8a) mod q, taken in [0, 2q).
/// Sums T_b over r and a are exact in 32 bits: 4 * 8192 * 255^2 < 2^31. Their combination sum_b T_b 2^(8b) is
/// below 4 * 8192 * 255 * 2q < q 2^32, so that one Montgomery reduction is left.
///
/// A warp has one of eight neighbouring points. It multiplies `left_tiles` times 16 columns with
/// `right_groups` times four selectors; the columns of a pair of right matrices are bytes 0, 1 (2, 3) of four
/// selectors, so that thread 4g + c ends up with whole sums of selector c for the columns g and g + 8.
namespace halocline::backend::cuda {

/// Place of chunk `chunk` (four points) of row `row` of column `column` of a stage, in words. Rows of eight
/// points of a column pair alternate, so that the threads of a warp, which read one word each of eight
/// columns and four rows, find eight groups of banks instead of four.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t row_mma_left_place(std::uint32_t column,
                                                                               std::uint32_t row,
                                                                               std::uint32_t chunk) {
  return (column * 2 + row / 4) * 32 + (2 * (row % 4) + (chunk ^ (column & 1))) * 4;
}

/// Begins to copy rows [8 step, 8 step + 8) of the block's columns to `stage`. Columns and rows that do not
/// exist are others: selectors of such rows are zero, and results of such columns are not stored.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void row_mma_fetch_left(const row_mma_params& p, const row_mma_place& at,
                                                     std::uint32_t thread, std::uint32_t step,
                                                     std::uint32_t* stage) {
  const std::uint32_t chunk = thread % 2, row = thread / 2 % row_mma_step, lane = thread / (2 * row_mma_step);
  const std::uint32_t wanted = step * row_mma_step + row;
  const std::uint32_t source = wanted < p.rows ? wanted : p.rows - 1;
  HALOCLINE_UNROLL
  for (std::uint32_t m = 0; m < ShapeT::left_tiles; ++m) {
    const std::uint32_t local = m * 16 + lane, column = at.first_column + local;
    const std::size_t from = static_cast<std::size_t>(column < p.columns ? column : p.columns - 1) * p.rows;
    load_async(*reinterpret_cast<pack<std::uint32_t>*>(stage + row_mma_left_place(local, row, chunk)),
               at.database + (from + source) * 32 + 4 * chunk);
  }
}

/// Reads a thread's selectors of step `step`: words 2 i and 2 i + 1 are rows r and r + 4 of selector
/// warp + 8 i, at the point thread % 8.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void row_mma_read_right(const row_mma_params& p, const row_mma_place& at,
                                                     std::uint32_t thread, std::uint32_t step,
                                                     std::uint32_t (&raw)[ShapeT::right_groups]) {
  const std::uint32_t point = thread % row_mma_points,
                      row = step * row_mma_step + thread / row_mma_points % 4;
  HALOCLINE_UNROLL
  for (std::uint32_t i = 0; i < ShapeT::right_groups / 2; ++i) {
    const std::uint32_t selector = at.first_selector + thread / 32 + 8 * i;
    raw[2 * i] = raw[2 * i + 1] = 0;
    if (selector >= 2 * p.queries) continue;
    const std::uint32_t* const from =
        p.query[selector / 2].selectors + 2 * at.selector_row + (selector % 2) * 32 + at.first_point + point;
    if (row < p.rows) raw[2 * i] = from[static_cast<std::size_t>(row) * 64];
    if (row + 4 < p.rows) raw[2 * i + 1] = from[static_cast<std::size_t>(row + 4) * 64];
  }
}

/// Registers of a pair of right matrices for thread `lane`, group `group` and point `point`, in words. The
/// distance between points is four words more than a multiple of the banks, for threads that write eight
/// points at once.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t row_mma_right_place(std::uint32_t point,
                                                                                std::uint32_t group,
                                                                                std::uint32_t lane) {
  return point * ShapeT::right_pitch + group * 128 + lane * 4;
}

/// Writes a thread's selectors as registers of right matrices.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void row_mma_write_right(const row_mma_prime& q, std::uint32_t thread,
                                                      const std::uint32_t (&raw)[ShapeT::right_groups],
                                                      std::uint32_t* right) {
  const std::uint32_t point = thread % row_mma_points, row = thread / row_mma_points % 4;
  HALOCLINE_UNROLL
  for (std::uint32_t i = 0; i < ShapeT::right_groups / 2; ++i) {
    const std::uint32_t selector = thread / 32 + 8 * i;
    std::uint32_t first[4], second[4];
    row_mma_shifts(raw[2 * i], q, first);
    row_mma_shifts(raw[2 * i + 1], q, second);
    HALOCLINE_UNROLL
    for (std::uint32_t b = 0; b < 2; ++b) {
      const std::uint32_t lane = 8 * (selector % 4) + 4 * b + row;
      const pack<std::uint32_t> registers{{first[b], second[b], first[b + 2], second[b + 2]}};
      *reinterpret_cast<pack<std::uint32_t>*>(
          right + row_mma_right_place<ShapeT>(point, selector / 4, lane)) = registers;
    }
  }
}

/// Registers of left matrix `m` for thread `lane` of the warp of point `point`.
HALOCLINE_HOST_DEVICE inline void row_mma_left(const std::uint32_t* stage, std::uint32_t point,
                                               std::uint32_t lane, std::uint32_t m,
                                               std::uint32_t (&left)[4]) {
  const std::uint32_t column = m * 16 + lane / 4, row = lane % 4, chunk = point / 4, word = point % 4;
  left[0] = stage[row_mma_left_place(column, row, chunk) + word];
  left[1] = stage[row_mma_left_place(column + 8, row, chunk) + word];
  left[2] = stage[row_mma_left_place(column, row + 4, chunk) + word];
  left[3] = stage[row_mma_left_place(column + 8, row + 4, chunk) + word];
}

/// Residue from the four sums of a selector and a column: sum_b T_b 2^(8b) / 2^32 mod q.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t row_mma_reduce(std::uint32_t t0, std::uint32_t t1,
                                                                        std::uint32_t t2, std::uint32_t t3,
                                                                        const row_mma_prime& q) {
  const std::uint64_t z = t0 + (static_cast<std::uint64_t>(t1) << 8) +
                          (static_cast<std::uint64_t>(t2) << 16) + (static_cast<std::uint64_t>(t3) << 24);
  const std::uint32_t m = static_cast<std::uint32_t>(z) * q.neg_inv;
  const auto lazy = static_cast<std::uint32_t>((z + static_cast<std::uint64_t>(m) * q.value) >> 32);
  return subtract_once<std::uint32_t>(lazy, q.value);
}

/// Place of a result, in words: points change places by column, so that a warp, which has one point of eight
/// columns and four selectors, writes to all banks, and eight threads that read one selector do, too.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t row_mma_result_place(std::uint32_t column,
                                                                                 std::uint32_t selector,
                                                                                 std::uint32_t point) {
  return (column * ShapeT::selectors + selector) * row_mma_points + (point ^ (column & 7));
}

/// Puts the results of a warp's thread for left matrix `m` and group `group` into `results`.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void row_mma_put(const row_mma_prime& q, std::uint32_t point, std::uint32_t lane,
                                              std::uint32_t m, std::uint32_t group,
                                              const std::uint32_t (&sums)[2][4], std::uint32_t* results) {
  HALOCLINE_UNROLL
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint32_t column = m * 16 + 8 * half + lane / 4, selector = group * 4 + lane % 4;
    results[row_mma_result_place<ShapeT>(column, selector, point)] =
        row_mma_reduce(sums[0][2 * half], sums[0][2 * half + 1], sums[1][2 * half], sums[1][2 * half + 1], q);
  }
}

/// Stores the block's results, eight neighbouring points by eight neighbouring threads.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void row_mma_store(const row_mma_params& p, const row_mma_place& at,
                                                std::uint32_t thread, const std::uint32_t* results) {
  const std::uint32_t point = thread % row_mma_points;
  for (std::uint32_t e = thread / row_mma_points; e < ShapeT::columns * ShapeT::selectors;
       e += row_mma_threads / row_mma_points) {
    const std::uint32_t local = e / ShapeT::selectors, column = at.first_column + local;
    const std::uint32_t selector = at.first_selector + e % ShapeT::selectors;
    if (column >= p.columns || selector >= 2 * p.queries) continue;
    const row_mma_query& query = p.query[selector / 2];
    const std::size_t limb =
        static_cast<std::size_t>(column) * query.stride + (selector % 2) * p.limbs + at.limb;
    query.dst[(limb << p.log_n) + at.point + point] =
        results[row_mma_result_place<ShapeT>(local, e % ShapeT::selectors, point)];
  }
}

}  // namespace halocline::backend::cuda
