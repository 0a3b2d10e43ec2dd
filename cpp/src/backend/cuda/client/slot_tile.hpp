// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/slot_fft.hpp"

/// How the slot transform is cut into kernels: consecutive passes whose points fit shared memory, on tiles of
/// the array. Plain functions of numbers, so that tests can run the thread blocks one by one on the host.
namespace halocline::backend::cuda {

/// Points of a tile, as a power of two, where the transform has that many.
inline constexpr unsigned slot_tile_log = 10;
/// Halvings that a launch does unless it is the first.
inline constexpr unsigned slot_group_levels = 8;

/// Consecutive passes: `levels` halvings after the first `depth`, on n = 2^log_slots points.
///
/// After `depth` halvings the array is blocks of m points; points of a block that are s = m / 2^levels apart
/// form a column, which the group transforms on its own. A tile is 2^log_columns columns.
struct slot_group {
  unsigned log_slots = 0;
  unsigned depth = 0;
  unsigned levels = 0;
  unsigned log_columns = 0;

  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t tiles() const {
    return std::size_t{1} << (log_slots - levels - log_columns);
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t tile_points() const {
    return std::size_t{1} << (levels + log_columns);
  }
  /// s, as a power of two.
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr unsigned log_step() const {
    return log_slots - depth - levels;
  }
  /// Neighbouring columns of one block in a tile, as a power of two.
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr unsigned log_run() const {
    return log_step() < log_columns ? log_step() : log_columns;
  }
  /// Whether the group begins with the radix-2 pass.
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr bool begins_odd() const { return levels % 2 == 1; }
  /// Number of a tile's first block.
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t first_block(std::size_t tile) const {
    return (tile << log_columns) >> log_step();
  }
  /// Place in the array of point e of a tile.
  [[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t address(std::size_t tile, std::size_t e) const {
    const std::size_t run = e & ((std::size_t{1} << log_run()) - 1);
    const std::size_t row = e >> log_run() & ((std::size_t{1} << levels) - 1);
    const std::size_t block = e >> (log_run() + levels);
    const std::size_t column = (tile << log_columns) + (block << log_run()) + run;
    const std::size_t rest = column & ((std::size_t{1} << log_step()) - 1);
    return (column >> log_step() << (log_step() + levels)) + (row << log_step()) + rest;
  }
};

/// Group that ends after `end` halvings; the first one takes what the others leave, the radix-2 pass
/// included.
[[nodiscard]] constexpr slot_group slot_group_before(unsigned log_slots, unsigned end) {
  const unsigned tile = log_slots < slot_tile_log ? log_slots : slot_tile_log;
  const unsigned levels =
      end <= tile && end == log_slots ? end : (end <= slot_group_levels ? end : slot_group_levels);
  return {log_slots, end - levels, levels, tile - levels};
}

/// Butterflies of one pass of a tile.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t slot_items(const slot_group& group, bool radix2) {
  return group.tile_points() / (radix2 ? 2 : 4);
}

/// Butterfly `w` of the radix-2 pass on a tile.
HALOCLINE_HOST_DEVICE inline void slot_pair(const slot_group& group, bool forward, std::size_t w, double* re,
                                            double* im) {
  const std::size_t half = std::size_t{1} << (group.levels - 1 + group.log_run());
  const std::size_t low = w / half * 2 * half + w % half;
  const std::size_t high = low + half;
  const arith::fft_pair in{{re[low], im[low]}, {re[high], im[high]}};
  const arith::fft_pair out = forward ? arith::fft_split_first(in) : arith::fft_join_first(in);
  re[low] = out.low.re, im[low] = out.low.im;
  re[high] = out.high.re, im[high] = out.high.im;
}

/// Butterfly `w` of the radix-4 pass after `done` halvings of the group, on tile number `tile`.
HALOCLINE_HOST_DEVICE inline void slot_quad(const slot_group& group, bool forward, std::size_t tile,
                                            unsigned done, std::size_t w, const arith::fft_factors* factors,
                                            double* re, double* im) {
  const unsigned log_quarter = group.levels - done - 2 + group.log_run();
  const std::size_t quarter = std::size_t{1} << log_quarter;
  const std::size_t part = w >> log_quarter;  // of all blocks in the tile
  const std::size_t p0 = (part << (log_quarter + 2)) + (w & (quarter - 1));
  const std::size_t p1 = p0 + quarter, p2 = p1 + quarter, p3 = p2 + quarter;
  const std::size_t block = (group.first_block(tile) << done) + part;
  const arith::fft_factors by =
      factors[arith::fft_factor_offset(group.log_slots, group.depth + done) + block];
  const arith::fft_quad in{{re[p0], im[p0]}, {re[p1], im[p1]}, {re[p2], im[p2]}, {re[p3], im[p3]}};
  const arith::fft_quad out = forward ? arith::fft_split(in, by) : arith::fft_join(in, by);
  re[p0] = out.c0.re, im[p0] = out.c0.im;
  re[p1] = out.c1.re, im[p1] = out.c1.im;
  re[p2] = out.c2.re, im[p2] = out.c2.im;
  re[p3] = out.c3.re, im[p3] = out.c3.im;
}

}  // namespace halocline::backend::cuda
