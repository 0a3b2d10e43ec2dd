// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/batch.hpp"
#include "halocline/arith/arith.hpp"

/// Parameters and shapes of `row_select` with matrix instructions.
namespace halocline::backend::cuda {

/// Threads of a block: a warp for each of its points.
inline constexpr std::uint32_t row_mma_threads = 256;
/// Neighbouring points of a block: 32 bytes, what the second-level cache moves at a time.
inline constexpr std::uint32_t row_mma_points = 8;
/// Rows of a step: their bytes are the 32 entries of a matrix instruction.
inline constexpr std::uint32_t row_mma_step = 8;
/// Steps of which the database's words are in shared memory or on their way.
inline constexpr std::uint32_t row_mma_stages = 4;
/// Most rows: sums of more might not fit in 31 bits.
inline constexpr std::uint32_t row_mma_rows = 8192;
/// Queries of a launch.
inline constexpr std::uint32_t row_mma_queries = 128;

/// What a block computes: `tiles` times 16 columns, `groups` times four selectors (a query has two).
template <unsigned tiles, unsigned groups>
struct row_mma_shape {
  static constexpr unsigned left_tiles = tiles, right_groups = groups;
  static constexpr std::uint32_t columns = 16 * tiles, selectors = 4 * groups;
  /// Words of a stage of the left matrices, between the right matrices of two points, and of all of these.
  static constexpr std::uint32_t stage_words = columns * row_mma_step * row_mma_points;
  static constexpr std::uint32_t right_pitch = groups * 128 + 4;
  static constexpr std::uint32_t right_words = row_mma_points * right_pitch;
  /// Shared memory: stages, two sets of right matrices; results take their place.
  static constexpr std::uint32_t shared_bytes = 4 * (row_mma_stages * stage_words + 2 * right_words);
  static_assert(groups % 2 == 0, "a warp reads selectors of two groups");
  static_assert(shared_bytes >= 4 * columns * selectors * row_mma_points, "results fit");
};

struct row_mma_query {
  const std::uint32_t* selectors;
  std::uint32_t* dst;    ///< first limb of ciphertext 0
  std::uint32_t stride;  ///< limbs from one ciphertext to the next
};

struct row_mma_params {
  const std::uint32_t* database = nullptr;
  const arith::modulus<std::uint32_t>* moduli = nullptr;
  std::uint32_t rows = 0, columns = 0, queries = 0;
  std::uint32_t log_n = 0, limbs = 0;
  std::uint32_t column_tiles = 0, selector_tiles = 0;  ///< of the grid
  row_mma_query query[row_mma_queries] = {};

  /// Blocks of the grid: eight points after the other of a line, selectors, columns, lines of 32 points.
  [[nodiscard]] constexpr std::uint32_t blocks() const noexcept {
    return ((limbs << log_n) / row_mma_points) * column_tiles * selector_tiles;
  }
};

/// What a block works on.
struct row_mma_place {
  std::uint32_t limb;
  std::uint32_t point;        ///< first one, within the limb
  std::uint32_t first_point;  ///< the same within its line of 32
  std::uint32_t first_column;
  std::uint32_t first_selector;
  const std::uint32_t* database;  ///< the points of row 0 of column 0
  std::size_t selector_row;       ///< words before row 0 of a matrix of `rows` rows, at the line of points
};

/// Blocks that read the same lines of the database follow each other.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline row_mma_place row_mma_find(const row_mma_params& p,
                                                                      std::uint32_t block) {
  constexpr std::uint32_t parts = 32 / row_mma_points;
  row_mma_place at{};
  at.first_point = block % parts * row_mma_points;
  block /= parts;
  at.first_selector = block % p.selector_tiles * ShapeT::selectors;
  block /= p.selector_tiles;
  at.first_column = block % p.column_tiles * ShapeT::columns;
  const std::uint32_t line = block / p.column_tiles;
  at.limb = line >> (p.log_n - 5);
  at.point = (line << 5) - (at.limb << p.log_n) + at.first_point;
  at.selector_row = static_cast<std::size_t>(line) * p.rows * 32;
  at.database = p.database + at.selector_row * p.columns + at.first_point;
  return at;
}

/// Constants of a block's prime.
struct row_mma_prime {
  std::uint32_t value, neg_inv;
  std::uint32_t quotient;  ///< floor(2^40 / q)
};
[[nodiscard]] HALOCLINE_HOST_DEVICE inline row_mma_prime row_mma_constants(
    const arith::modulus<std::uint32_t>& q) {
  return {q.value, q.neg_inv, static_cast<std::uint32_t>((std::uint64_t{1} << 40) / q.value)};
}

}  // namespace halocline::backend::cuda
