// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/array_maps.cuh"
#include "backend/cuda/retrieval/block_team.cuh"
#include "halocline/backend/retrieval_jobs.hpp"

/// Body of the kernel that turns polynomials into rows of a point matrix.
namespace halocline::backend::cuda {

/// A block copies `turn_blocks` neighbouring blocks of points of `turn_rows` polynomials: 512 bytes that
/// follow each other are read, and with a step of one 4 KiB are written. 256 threads.
inline constexpr std::uint32_t turn_blocks = 4, turn_rows = 32;
inline constexpr std::uint32_t turn_threads = 256;

/// Blocks of points of a polynomial, in tiles.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t tiles_of_blocks(const turn_params& p) {
  const std::uint32_t blocks = p.limbs * ((1U << p.log_n) / points_per_block);
  return (blocks + turn_blocks - 1) / turn_blocks;
}
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t turn_tiles(const turn_params& p,
                                                                    std::uint64_t polynomials) {
  return static_cast<std::uint32_t>((polynomials + turn_rows - 1) / turn_rows) * tiles_of_blocks(p);
}

HALOCLINE_HOST_DEVICE inline void turn_body(const turn_params& p, const coordinates& at) {
  constexpr std::uint32_t parts = points_per_block / words4::size;
  constexpr std::uint32_t rows = turn_threads / (parts * turn_blocks);  // at a time
  const turn_item& job = p.items[at.block_y];
  const std::uint32_t blocks = p.limbs * ((1U << p.log_n) / points_per_block);
  const std::uint32_t tiles = tiles_of_blocks(p);
  const std::uint32_t group = at.block_x / tiles, tile = at.block_x - group * tiles;
  const std::uint32_t part = at.thread % parts;
  const std::uint32_t block = tile * turn_blocks + at.thread / parts % turn_blocks;
  if (block >= blocks) return;
  const std::size_t from = std::size_t{block} * points_per_block + part * words4::size;
  std::uint32_t* const dst = job.dst + std::size_t{block} * job.rows * points_per_block + part * words4::size;
  words4 value[turn_rows / rows];
  const std::uint32_t first = group * turn_rows + at.thread / (parts * turn_blocks);
  HALOCLINE_UNROLL
  for (std::uint32_t k = 0; k < turn_rows / rows; ++k) {
    if (first + k * rows < job.count) value[k] = load4(job.src.at(first + k * rows) + from);
  }
  HALOCLINE_UNROLL
  for (std::uint32_t k = 0; k < turn_rows / rows; ++k) {
    const std::uint32_t i = first + k * rows;
    if (i < job.count) store4(dst + (job.first + std::size_t{i} * job.step) * points_per_block, value[k]);
  }
}

/// Point-major: a block brings 32 points of 32 polynomials through shared memory, so that both reading and
/// writing move 128 bytes that follow each other. 256 threads.
inline constexpr std::uint32_t turn_tile = 32;
inline constexpr std::uint32_t turn_tile_words = turn_tile * (turn_tile + 1);

[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t point_major_tiles(const turn_params& p,
                                                                           std::uint64_t polynomials) {
  return static_cast<std::uint32_t>((polynomials + turn_tile - 1) / turn_tile) * (p.limbs << p.log_n >> 5);
}

template <typename TeamT>
HALOCLINE_HOST_DEVICE inline void turn_point_major_body(const turn_params& p, const TeamT& team,
                                                        std::uint32_t block_x, std::uint32_t block_y,
                                                        std::uint32_t* shared) {
  const turn_item& job = p.items[block_y];
  const std::uint32_t lines = p.limbs << p.log_n >> 5;  // 32 points each
  const std::uint32_t first = block_x / lines * turn_tile, point = block_x % lines * turn_tile;
  team.each([&](std::uint32_t thread) {
    for (std::uint32_t k = thread / 32; k < turn_tile; k += turn_threads / 32) {
      if (first + k >= job.count) break;
      shared[k * (turn_tile + 1) + thread % 32] = job.src.at(first + k)[point + thread % 32];
    }
  });
  team.barrier();
  team.each([&](std::uint32_t thread) {
    const std::uint32_t i = first + thread % 32;
    if (i >= job.count) return;
    std::uint32_t* const dst = job.dst + job.first + std::size_t{i} * job.step;
    for (std::uint32_t k = thread / 32; k < turn_tile; k += turn_threads / 32) {
      dst[std::size_t{point + k} * job.rows] = shared[thread % 32 * (turn_tile + 1) + k];
    }
  });
}

}  // namespace halocline::backend::cuda
