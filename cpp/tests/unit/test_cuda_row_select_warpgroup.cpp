// SPDX-License-Identifier: Apache-2.0
// `row_select` of point-major matrices, a block at a time on the host: with the matrix instructions of
// warpgroups as the PTX manual lays their operands out, and with a row for each thread of a warp.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "backend/cuda/retrieval/points.cuh"
#include "backend/cuda/retrieval/retrieval_plan.hpp"
#include "backend/cuda/retrieval/row_select_choice.hpp"
#include "backend/cuda/retrieval/row_select_dots.cuh"
#include "backend/cuda/retrieval/row_select_mma_plan.hpp"
#include "backend/cuda/retrieval/row_select_plan.hpp"
#include "backend/cuda/retrieval/row_select_warpgroup.cuh"
#include "cuda_fused_rig.hpp"
#include "cuda_mma_emulation.hpp"
#include "cuda_team.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using namespace halocline::backend::cuda;

constexpr std::uint32_t poison = 0xdeadbeef;

/// What a thread keeps.
template <typename ShapeT>
struct thread_state {
  std::uint32_t sums[2][ShapeT::sums] = {};
  warpgroup_left left;
};

/// Bytes 4 k to 4 k + 3 of line `column` of a tile with the 128-byte swizzle: bits 4 to 6 of an address are
/// combined with bits 7 to 9.
std::uint32_t swizzled_bytes(const std::uint32_t* tile, std::uint32_t column, std::uint32_t k) {
  const std::uint32_t address = column * 128 + 4 * k;
  return tile[(address ^ (address >> 7 & 7) << 4) / 4];
}

/// Sum of the products of the four bytes of two words.
HALOCLINE_TEST_UNSANITIZED inline std::uint32_t byte_products(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) sum += (a >> shift & 255) * (b >> shift & 255);
  return sum;
}

/// Selectors and columns of the database that there are for the result of an instruction.
struct tile_part {
  std::uint32_t selectors, columns;
};

template <typename ShapeT>
tile_part part_in_use(const row_mma_params& p, const warpgroup_place& at, std::uint32_t group) {
  const auto left = [](std::uint32_t all, std::uint32_t first) { return all > first ? all - first : 0; };
  return {left(2 * p.queries, at.first_selector + (ShapeT::wide ? 0 : 32 * group)),
          left(p.columns, at.first_column + (ShapeT::wide ? ShapeT::n * group : 0))};
}

/// wgmma.m64nNk32.s32.u8.u8 number `j` of a step, for half `half` of the bytes. Sums outside of `used` are
/// poison.
template <typename ShapeT>
HALOCLINE_TEST_UNSANITIZED void emulate_wgmma(thread_state<ShapeT>* group, const std::uint32_t* tile,
                                              unsigned j, unsigned half, tile_part used) {
  std::uint32_t right[ShapeT::n][8];
  for (std::uint32_t column = 0; column < ShapeT::n; ++column) {
    for (std::uint32_t k = 0; k < 8; ++k) right[column][k] = swizzled_bytes(tile, column, 8 * j + k);
  }
  for (std::uint32_t row = 0; row < 64; ++row) {
    const std::uint32_t selector = row / 16 * 8 + row % 8;
    const std::uint32_t first = 4 * selector;  // of the four threads that have the row
    std::uint32_t left[8];  // registers 0 and 1: bytes below 16 of rows g and g + 8; 2 and 3: the others
    for (std::uint32_t k = 0; k < 8; ++k) {
      left[k] = group[first + k % 4].left[j][half][row % 16 / 8 + 2 * (k / 4)];
    }
    for (std::uint32_t column = 0; column < ShapeT::n; ++column) {
      std::uint32_t sum = selector < used.selectors && column < used.columns ? 0 : poison;
      for (std::uint32_t k = 0; k < 8 && sum != poison; ++k) sum += byte_products(left[k], right[column][k]);
      const std::uint32_t thread = first + column % 8 / 2;
      group[thread].sums[half][4 * (column / 8) + 2 * (row % 16 / 8) + column % 2] += sum;
    }
  }
}

/// The words that a copy of a box leaves in a stage.
template <typename ShapeT>
std::vector<std::uint32_t> stage_of(const row_mma_params& p, const warpgroup_place& at, std::uint32_t point,
                                    std::uint32_t step) {
  std::vector<std::uint32_t> stage(ShapeT::right_words, 0);
  for (std::uint32_t local = 0; local < ShapeT::columns; ++local) {
    for (std::uint32_t r = 0; r < warpgroup_rows; ++r) {
      const std::uint32_t column = at.first_column + local, row = step * warpgroup_rows + r;
      if (column >= p.columns || row >= p.rows) continue;
      stage[warpgroup_right_place(local, r / 4) + r % 4] =
          p.database[(std::size_t{at.all_points + point} * p.columns + column) * p.rows + row];
    }
  }
  return stage;
}

/// The selectors of a stage.
template <typename ShapeT>
std::vector<std::uint32_t> selectors_of(const row_mma_params& p, const warpgroup_place& at,
                                        std::uint32_t point, std::uint32_t step) {
  std::vector<std::uint32_t> left(ShapeT::left_words, poison);
  const std::uint32_t first = at.first_selector / 2;
  for (std::uint32_t i = 0; i < std::min(ShapeT::selectors / 2, p.queries - first); ++i) {
    std::copy_n(warpgroup_source(p, at, first + i, point, step), warpgroup_source_words(p, step),
                left.begin() + i * warpgroup_query_pitch);
  }
  return left;
}

template <typename ShapeT>
void run_block(const row_mma_params& p, std::uint32_t block) {
  const warpgroup_place at = warpgroup_find<ShapeT>(p, block);
  const row_mma_prime q = row_mma_constants(p.moduli[at.limb]);
  std::vector<std::uint32_t> results(ShapeT::result_words, poison);
  for (std::uint32_t point = 0; point < ShapeT::points; ++point) {
    const auto threads = std::make_unique<thread_state<ShapeT>[]>(warpgroup_threads);
    for (std::uint32_t s = 0; s < warpgroup_steps(p.rows); ++s) {
      const std::vector<std::uint32_t> stage = stage_of<ShapeT>(p, at, point, s);
      const std::vector<std::uint32_t> left = selectors_of<ShapeT>(p, at, point, s);
      for (std::uint32_t t = 0; t < warpgroup_threads; ++t) {
        std::uint32_t raw[8];
        warpgroup_read<ShapeT>(left.data(), t, raw);
        warpgroup_prepare(q, raw, threads[t].left);
      }
      for (std::uint32_t group = 0; group < 2; ++group) {
        const std::uint32_t* const tile =
            stage.data() + (ShapeT::wide ? group * ShapeT::n * warpgroup_rows : 0);
        const tile_part used = part_in_use<ShapeT>(p, at, group);
        for (unsigned j = 0; j < 8; ++j) {
          emulate_wgmma<ShapeT>(&threads[128 * group], tile, j / 2, j % 2, used);
        }
      }
    }
    for (std::uint32_t t = 0; t < warpgroup_threads; ++t) {
      warpgroup_put<ShapeT>(q, t, point, threads[t].sums, results.data());
    }
  }
  for (std::uint32_t t = 0; t < warpgroup_threads; ++t) warpgroup_store<ShapeT>(p, at, t, results.data());
}

class CudaPointMajor : public cuda_fused_rig {
 protected:
  /// @param emulated runs a job with the resolver
  template <typename RunT>
  void check(std::uint32_t rows, std::uint32_t columns, std::uint32_t queries, bool highest,
             const RunT& run) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns, " << queries << " queries");
    backend::row_select_job cpu{{points(rows * columns, highest), rows * columns, 1}, rows, columns, {}};
    backend::row_select_job emulated = cpu;
    for (std::uint32_t i = 0; i < queries; ++i) {
      const backend::point_matrix selectors{points(2 * rows, highest), 2 * rows, 1};
      const std::uint32_t stride = 2 * limbs() + i % 2, first = i % 3;
      const auto dst = destination(std::vector<word>((first + std::size_t{columns} * stride) * n(), poison));
      cpu.queries.push_back({selectors, {dst.first, first, stride}});
      emulated.queries.push_back({selectors, {dst.second, first, stride}});
    }
    cpu_->row_select(ring_->tables(), std::span(&cpu, 1));
    emulate([&](const auto& resolve) { run(resolve, emulated); });
  }
  template <typename ShapeT>
  void check_warpgroups(std::uint32_t rows, std::uint32_t columns, std::uint32_t queries,
                        bool highest = false) {
    check(rows, columns, queries, highest, [](const auto& resolve, const backend::row_select_job& job) {
      plan_row_mma<ShapeT>(resolve, job, [](const row_mma_params& p) {
        for (std::uint32_t b = 0; b < warpgroup_blocks<ShapeT>(p); ++b) run_block<ShapeT>(p, b);
      });
    });
  }
};

/// Rows, columns and queries that do not fill stages and tiles, and that need several.
TEST_F(CudaPointMajor, WarpgroupsEqualTheSpecification) {
  begin(5, {30, 24.3});
  check_warpgroups<warpgroup_shape<64, false>>(4, 1, 1);
  check_warpgroups<warpgroup_shape<64, false>>(36, 100, 33);
  check_warpgroups<warpgroup_shape<32, true>>(72, 65, 17);
  begin(6, {26.5});
  check_warpgroups<warpgroup_shape<64, true>>(32, 60, 3);
  check_warpgroups<warpgroup_shape<32, false>>(100, 40, 2, true);
  check_warpgroups<warpgroup_shape<96, false>>(40, 100, 33);
  check_warpgroups<warpgroup_shape<128, false>>(68, 130, 5);
}

/// Sums of the largest residues of as many rows as there may be keep to 31 bits.
TEST_F(CudaPointMajor, WarpgroupsSumTheLargestResidues) {
  begin(5, {30});
  check_warpgroups<warpgroup_shape<32, false>>(row_mma_rows, 1, 1, true);
}

TEST_F(CudaPointMajor, DotsEqualTheSpecification) {
  begin(5, {30, 20.3});
  const auto run = [](const auto& resolve, const backend::row_select_job& job) {
    plan_row_select(resolve, job, [](const row_select_params& p) {
      for (std::uint64_t item = 0; item < dots_items(p); ++item) {
        const dots_place at = dots_find(p, item);
        const std::uint32_t q = p.moduli[at.limb].value;
        for (std::uint32_t i = 0; i < 2 * p.queries; ++i) {
          std::uint64_t sum = 0;
          for (std::uint32_t lane = 0; lane < 32; ++lane)
            sum = dots_add(sum, dots_part(p, at, i / 2, i % 2, lane), q);
          dots_store(p, at, i / 2, i % 2, sum);
        }
      }
    });
  };
  check(1, 3, 1, false, run);
  check(77, 5, 70, false, run);
  check(130, 2, 2, true, run);
}

/// Chunks that threads write at once, and lines that an instruction reads at once, are in different banks.
TEST(CudaWarpgroupPlaces, AvoidBankConflicts) {
  for (std::uint32_t column = 0; column < 16; ++column) {
    std::set<std::uint32_t> banks;
    for (std::uint32_t chunk = 0; chunk < 8; ++chunk) banks.insert(warpgroup_right_place(column, chunk) % 32);
    EXPECT_EQ(banks.size(), 8U);
  }
  for (std::uint32_t chunk = 0; chunk < 8; ++chunk) {
    std::set<std::uint32_t> banks;
    for (std::uint32_t column = 0; column < 8; ++column)
      banks.insert(warpgroup_right_place(column, chunk) % 32);
    EXPECT_EQ(banks.size(), 8U);
  }
}

/// Tiles: few columns, those of databases of 1 GiB, and wide ones.
TEST(CudaWarpgroupPlaces, TilesPadLittle) {
  EXPECT_EQ(warpgroup_tile(20, false), 32U);
  EXPECT_EQ(warpgroup_tile(171, false), 96U);
  EXPECT_EQ(warpgroup_tile(631, false), 128U);
  EXPECT_EQ(warpgroup_tile(60, true), 32U);
  EXPECT_EQ(warpgroup_tile(631, true), 64U);
}

/// Results that warps put at once are in different banks but for pairs of threads.
TEST(CudaWarpgroupPlaces, ResultsSpreadOverBanks) {
  using shape = warpgroup_shape<64, false>;
  for (std::uint32_t point = 0; point < shape::points; ++point) {
    std::map<std::uint32_t, int> banks;
    for (std::uint32_t t = 0; t < 32; ++t)
      ++banks[warpgroup_result_place<shape>(warpgroup_selector<shape>(t), 2 * (t % 4), point) % 32];
    for (const auto& [bank, count] : banks) EXPECT_LE(count, 2) << "bank " << bank;
  }
}

}  // namespace
