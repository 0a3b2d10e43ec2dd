// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/fusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/backend/registry.hpp"

namespace halocline::pir {
namespace {

TEST(PirFusion, RowsBelongToDevices) {
  EXPECT_EQ(fusion_row_of("cuda:3", 12).device, "cuda");
  EXPECT_EQ(fusion_row_of("cuda", 13).log_n, 12U);
  EXPECT_EQ(fusion_row_of("cpu", 10).log_n, 11U);
  EXPECT_EQ(fusion_row_of("ghost", 11).device, "cpu");
}

TEST(PirFusion, HasAnEntryForEachLevel) {
  layout_request request;
  request.rows = 64;
  for (const std::uint64_t records : {1U, 64U, 65U, 5000U}) {
    const context ctx(make_geometry(preset("pir-n2048"), records, 2560, request),
                      backend::make_backend("ghost"));
    const layout& at = ctx.shape().at;
    const fusion_choice made = choose_fusion(ctx, 3);
    EXPECT_EQ(made.expansion.size(), at.expansion_depth(ctx.shape().scheme)) << records;
    EXPECT_EQ(made.selection.size(), std::max(1U, at.column_bits())) << records;
    EXPECT_EQ(std::ranges::count(made.expansion, fusion::operation), 0);  // a processor's row
    EXPECT_FALSE(made.turned);
    EXPECT_TRUE(choose_fusion(ctx.shape(), "cuda:1", 3).turned);
    EXPECT_EQ(choose_fusion(ctx, 3, 4).selection.size(),
              at.columns == 1 ? 1U : std::min(2U, at.column_bits()));
  }
}

/// 85 columns: 21 pairs and then 32, 16, 8 and so on, times the queries of a batch.
TEST(PirFusion, SubtreesTakeLevelsWithThem) {
  layout_request request;
  request.rows = 64;
  const geometry shape = make_geometry(preset("pir-n2048"), 85 * 64, 2560, request);
  ASSERT_EQ(shape.at.columns * shape.planes(), 85U);
  using enum fusion;
  const auto chosen = [&](const fusion_row& row) { return choose_fusion(shape, row, 2).selection; };
  EXPECT_EQ(chosen({"cuda", 11, 0, 32, never, never}),
            (std::vector{stage, stage, stage, operation, operation, operation, operation}));
  EXPECT_EQ(chosen({"cuda", 11, 0, 32, 16, never}),
            (std::vector{subtree, subtree, subtree, subtree, operation, operation, operation}));
  EXPECT_EQ(chosen({"cuda", 11, 0, 32, 16, 32}),
            (std::vector{subtree_3, subtree_3, subtree_3, operation, operation, operation, operation}));
  EXPECT_EQ(chosen({"cuda", 11, 0, 0, 0, 0}),
            (std::vector{subtree_3, subtree_3, subtree_3, subtree_3, subtree_3, subtree_3, stage}));
}

}  // namespace
}  // namespace halocline::pir
