// SPDX-License-Identifier: Apache-2.0
// Kernels of private retrieval whose threads work together, run on the host: transforms and row_select.
#include <gtest/gtest.h>

#include "backend/cuda/retrieval/array_maps.cuh"
#include "backend/cuda/retrieval/array_ntt.cuh"
#include "backend/cuda/retrieval/retrieval_plan.hpp"
#include "backend/cuda/retrieval/row_select.cuh"
#include "backend/cuda/retrieval/row_select_plan.hpp"
#include "cuda_retrieval_rig.hpp"
#include "cuda_team.hpp"

namespace {

using namespace halocline;
using namespace halocline::backend;
using namespace halocline::test;

class CudaRetrievalBlocks : public cuda_retrieval_rig {
 protected:
  template <unsigned k, bool inverse, bool near>
  static void transform(const cuda::resolver<word>& at, std::span<const array_job> jobs,
                        std::uint32_t polys) {
    cuda::plan_array_ntt(at, jobs, [&](cuda::transform_params p, std::uint64_t most) {
      p.polys = polys;
      std::vector<cuda::words4> shared(cuda::array_ntt_words<k, near>() / 4);
      for (std::uint32_t y = 0; y < p.jobs; ++y) {
        for (std::uint32_t x = 0; x < transform_blocks(p, most); ++x) {
          const host_team team(cuda::block_ntt<k>::threads);
          cuda::array_ntt_body<k, inverse, near>(p, team, x, y, shared[0].word, [] {});
        }
      }
    });
  }
  template <unsigned k, bool inverse, bool near>
  void expect_transforms(std::uint32_t polys) {
    begin(k, {30, 29.5, 27});
    std::vector<array_job> cpu, emulated;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::uint32_t count = 1 + 2 * i;
      const poly_array src = operand(count, 1);
      const auto dst = destination(count, 1, i == 1 ? &src : nullptr);
      cpu.push_back({dst.cpu, i == 1 ? dst.cpu : src, count});
      emulated.push_back({dst.emulated, i == 1 ? dst.emulated : src, count});
    }
    inverse ? cpu_->array_intt(tables(), cpu) : cpu_->array_ntt(tables(), cpu);
    emulate([&](const auto& at) { transform<k, inverse, near>(at, emulated, polys); });
  }
  template <unsigned k>
  void expect_all_transforms() {
    expect_transforms<k, false, false>(1);
    expect_transforms<k, true, false>(2);
    expect_transforms<k, false, true>(3);
    expect_transforms<k, true, true>(1);
  }

  struct row_case {
    std::uint32_t rows, columns, queries;
  };
  template <typename TileT>
  void expect_rows(const row_case& of, unsigned log_n, const std::vector<double>& bits) {
    begin(log_n, bits);
    row_select_job cpu{matrix(of.rows * of.columns), of.rows, of.columns, {}};
    row_select_job emulated = cpu;
    for (std::uint32_t i = 0; i < of.queries; ++i) {
      const auto dst = destination(of.columns, 2);
      const point_matrix selectors = matrix(2 * of.rows);
      cpu.queries.push_back({selectors, dst.cpu});
      emulated.queries.push_back({selectors, dst.emulated});
    }
    cpu_->row_select(tables(), std::vector{cpu});
    emulate([&](const auto& at) {
      cuda::plan_row_select(at, emulated, [](const cuda::row_select_params& p) {
        const auto grid = cuda::row_grid::of(p, TileT{});
        std::vector<cuda::words4> shared(TileT::shared_bytes / 16);
        for (std::uint32_t b = 0; b < grid.selector_tiles * grid.column_tiles * grid.point_blocks; ++b) {
          cuda::row_select_body<TileT>(p, host_team(TileT::threads), b, shared[0].word);
        }
      });
    });
  }
  template <typename TileT>
  void expect_all_rows() {
    for (const row_case& of : {row_case{1, 1, 1}, {8, 33, 2}, {9, 16, 9}, {50, 5, 3}, {64, 40, 17}}) {
      expect_rows<TileT>(of, 6, {30, 29.5});
      expect_rows<TileT>(of, 5, {29, 27});
    }
    expect_rows<TileT>({3, 2, 66}, 5, {30});        // more queries than a launch takes
    expect_rows<TileT>({1100, 3, 1}, 5, {30, 27});  // more rows than primes of 27 bits leave room for
  }
};

TEST_F(CudaRetrievalBlocks, TransformsArrays) {
  expect_all_transforms<10>();
  expect_all_transforms<11>();
  expect_all_transforms<12>();
  expect_all_transforms<13>();
}

TEST_F(CudaRetrievalBlocks, SelectsRowsInEveryShape) {
  expect_all_rows<cuda::one_query_tile>();
  expect_all_rows<cuda::two_query_tile>();
  expect_all_rows<cuda::four_query_tile>();
  expect_all_rows<cuda::eight_query_tile>();
}

/// All residues are q - 1, so that sums grow as fast as they can.
TEST_F(CudaRetrievalBlocks, LargestSumsDoNotOverflow) {
  for (const double bits : {30.0, 29.0, 28.0, 27.0}) {
    begin(5, {bits});
    const auto worst = static_cast<word>(host_->primes[0] - 1);
    const std::uint32_t rows = 1200;
    const point_matrix database{keep(std::vector<word>(rows * n(), worst)), rows};
    const point_matrix selectors{keep(std::vector<word>(2 * rows * n(), worst)), 2 * rows};
    const auto dst = destination(1, 2);
    const row_select_job cpu{database, rows, 1, {{selectors, dst.cpu}}};
    const row_select_job emulated{database, rows, 1, {{selectors, dst.emulated}}};
    cpu_->row_select(tables(), std::vector{cpu});
    emulate([&](const auto& at) {
      cuda::plan_row_select(at, emulated, [](const cuda::row_select_params& p) {
        using tile = cuda::one_query_tile;
        std::vector<cuda::words4> shared(tile::shared_bytes / 16);
        cuda::row_select_body<tile>(p, host_team(tile::threads), 0, shared[0].word);
      });
    });
  }
}

}  // namespace
