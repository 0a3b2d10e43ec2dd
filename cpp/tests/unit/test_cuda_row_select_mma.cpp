// SPDX-License-Identifier: Apache-2.0
// `row_select` with matrix instructions, a block at a time on the host: all threads up to a barrier, then all
// of them up to the next.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <vector>

#include "backend/cuda/retrieval/row_select_choice.hpp"
#include "backend/cuda/retrieval/row_select_mma.cuh"
#include "backend/cuda/retrieval/row_select_mma_plan.hpp"
#include "cuda_fused_rig.hpp"
#include "cuda_mma_emulation.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using namespace halocline::backend::cuda;

/// What shared memory and results hold before they are written.
constexpr std::uint32_t poison = 0xdeadbeef;

/// A block, with the steps of the kernel in their order.
template <typename ShapeT>
class emulated_block {
 public:
  emulated_block(const row_mma_params& p, std::uint32_t block)
      : p_(p), at_(row_mma_find<ShapeT>(p, block)), q_(row_mma_constants(p.moduli[at_.limb])) {}

  void run() {
    for (std::uint32_t s = 0; s * row_mma_step < p_.rows; ++s) {
      stage_.assign(ShapeT::stage_words, poison);
      right_.assign(ShapeT::right_words, poison);
      threads([&](std::uint32_t t) {
        row_mma_fetch_left<ShapeT>(p_, at_, t, s, stage_.data());
        std::uint32_t raw[ShapeT::right_groups];
        row_mma_read_right<ShapeT>(p_, at_, t, s, raw);
        row_mma_write_right<ShapeT>(q_, t, raw, right_.data());
      });
      for (std::uint32_t point = 0; point < row_mma_points; ++point) multiply(point);
    }
    std::vector<std::uint32_t> results(ShapeT::columns * ShapeT::selectors * row_mma_points, poison);
    threads([&](std::uint32_t t) { put(t / 32, t % 32, results.data()); });
    threads([&](std::uint32_t t) { row_mma_store<ShapeT>(p_, at_, t, results.data()); });
  }

 private:
  template <typename BodyT>
  void threads(const BodyT& body) {
    for (std::uint32_t t = 0; t < row_mma_threads; ++t) body(t);
  }
  void multiply(std::uint32_t point) {
    for (unsigned m = 0; m < ShapeT::left_tiles; ++m) {
      warp_registers<4> left{};
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        std::uint32_t own[4];
        row_mma_left(stage_.data(), point, lane, m, own);
        std::copy(own, own + 4, left[lane].begin());
      }
      for (unsigned group = 0; group < ShapeT::right_groups; ++group) {
        warp_registers<2> right[2];
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
          const std::uint32_t* const b = right_.data() + row_mma_right_place<ShapeT>(point, group, lane);
          right[0][lane] = {b[0], b[1]};
          right[1][lane] = {b[2], b[3]};
        }
        for (unsigned h = 0; h < 2; ++h) emulate_mma((*sums_)[point][m][group][h], left, right[h]);
      }
    }
  }
  void put(std::uint32_t point, std::uint32_t lane, std::uint32_t* results) {
    for (unsigned m = 0; m < ShapeT::left_tiles; ++m) {
      for (unsigned group = 0; group < ShapeT::right_groups; ++group) {
        std::uint32_t own[2][4];
        for (unsigned i = 0; i < 8; ++i) own[i / 4][i % 4] = (*sums_)[point][m][group][i / 4][lane][i % 4];
        row_mma_put<ShapeT>(q_, point, lane, m, group, own, results);
      }
    }
  }

  using all_sums = std::array<
      std::array<std::array<std::array<warp_registers<4>, 2>, ShapeT::right_groups>, ShapeT::left_tiles>,
      row_mma_points>;
  const row_mma_params& p_;
  row_mma_place at_;
  row_mma_prime q_;
  std::vector<std::uint32_t> stage_, right_;
  std::unique_ptr<all_sums> sums_ = std::make_unique<all_sums>();
};

template <typename ShapeT>
class CudaRowSelectMma : public cuda_fused_rig {
 protected:
  void check(std::uint32_t rows, std::uint32_t columns, std::uint32_t queries, bool highest = false) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns, " << queries << " queries");
    backend::row_select_job cpu{{points(rows * columns, highest), rows * columns}, rows, columns, {}};
    backend::row_select_job emulated = cpu;
    for (std::uint32_t i = 0; i < queries; ++i) {
      const backend::point_matrix selectors{points(2 * rows, highest), 2 * rows};
      const std::uint32_t stride = 2 * limbs() + i % 2, first = i % 3;
      const auto dst = destination(std::vector<word>((first + std::size_t{columns} * stride) * n(), poison));
      cpu.queries.push_back({selectors, {dst.first, first, stride}});
      emulated.queries.push_back({selectors, {dst.second, first, stride}});
    }
    cpu_->row_select(ring_->tables(), std::span(&cpu, 1));
    emulate([&](const auto& resolve) {
      plan_row_mma<ShapeT>(resolve, emulated, [](const row_mma_params& p) {
        for (std::uint32_t b = 0; b < p.blocks(); ++b) emulated_block<ShapeT>(p, b).run();
      });
    });
  }
};

using shapes = testing::Types<row_mma_shape<8, 2>, row_mma_shape<4, 4>, row_mma_shape<2, 8>>;
TYPED_TEST_SUITE(CudaRowSelectMma, shapes);

/// Numbers of rows, columns and queries that do not fill steps and tiles, and that need several.
TYPED_TEST(CudaRowSelectMma, EqualsTheSpecification) {
  this->begin(5, {30, 24.3});
  this->check(1, 1, 1);
  this->check(8, 16, 2);
  this->check(13, 37, 5);
  this->begin(7, {26.5});
  this->check(21, 5, 17);
  this->check(4, 130, 3);
}

/// More queries than a launch has.
TYPED_TEST(CudaRowSelectMma, SeveralLaunches) {
  this->begin(5, {30});
  this->check(2, 2, row_mma_queries + 3);
}

/// Threads that write or read shared memory at once find different banks.
TYPED_TEST(CudaRowSelectMma, PlacesAvoidBankConflicts) {
  using shape = TypeParam;
  for (std::uint32_t lane = 0; lane < 32; lane += 8) {  // 16 bytes each: eight threads at a time
    std::set<std::uint32_t> left, right;
    for (std::uint32_t t = lane; t < lane + 8; ++t) {
      left.insert(row_mma_left_place(t / 16, t / 2 % 8, t % 2) % 32);
      right.insert(row_mma_right_place<shape>(t % 8, 0, t / 8) % 32);
    }
    EXPECT_EQ(left.size(), 8U);
    EXPECT_EQ(right.size(), 8U);
  }
  std::set<std::uint32_t> results, groups;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    results.insert(row_mma_result_place<shape>(lane / 4, lane % 4, 5) % 32);
    groups.insert(row_mma_left_place(lane / 4, lane % 4, 1) % 32);
  }
  EXPECT_EQ(results.size(), 32U);
  EXPECT_EQ(groups.size(), 8U);  // of four banks: four threads meet in each
}

using CudaRowSelectMmaSmall = CudaRowSelectMma<row_mma_shape<1, 2>>;

/// The largest sums: every byte product, and the sum before its reduction, stays in range.
TEST_F(CudaRowSelectMmaSmall, MostRowsOfHighestResidues) {
  for (const double bits : {30.0, 20.0}) {
    begin(5, {bits});
    check(row_mma_rows, 1, 1, true);
  }
}

TEST(CudaRowSelectChoice, FollowsTheTableUnlessOverridden) {
  EXPECT_EQ(choose_row_select(90, 631, 512, 1), row_select_kernel::integer);
  EXPECT_EQ(choose_row_select(90, 631, 512, 4), row_select_kernel::matrix_4);
  EXPECT_EQ(choose_row_select(80, 631, 512, 8), row_select_kernel::matrix_8);
  EXPECT_EQ(choose_row_select(90, 631, 512, 64), row_select_kernel::matrix_16);
  EXPECT_EQ(choose_row_select(90, 1, 512, 64), row_select_kernel::integer);
  const auto wanted = row_select_kernel::matrix_8;
  override_row_select(&wanted);
  EXPECT_EQ(choose_row_select(90, 1, 512, 1), row_select_kernel::matrix_8);
  EXPECT_EQ(choose_row_select(90, 631, row_mma_rows + 1, 64), row_select_kernel::integer);
  override_row_select(nullptr);
  EXPECT_EQ(choose_row_select(90, 631, 512, 1), row_select_kernel::integer);
}

}  // namespace
