// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/fusion.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace halocline::pir {
namespace {

/// Processors: measured with `halocline_retrieval_bench`, fused kernels are 1.3 to 2.4 times as fast in every
/// level, because digits stay in the second-level cache. GPUs: measured on an H200 with
/// `halocline_kernel_bench --levels`. Fused kernels win from some 48 nodes or 112 to 128 pairs on; subtrees
/// are slower than single levels or gain 5 %, in levels that take little. Leaves that the last level turns
/// save a tenth of it in blocks of points; in point-major matrices they take twice as long as with a pass of
/// its own, because their words are 16 bytes apart from each other, so there `choose_fusion` leaves the pass.
constexpr std::array<fusion_row, 4> rows{{
    {"cpu", 11, 0, 0, never, never, false},
    {"cpu", 12, 0, 0, never, never, false},
    {"cuda", 11, 48, 128, never, never, true},
    {"cuda", 12, 48, 112, never, never, true},
}};

bool reaches(std::uint64_t nodes, std::uint32_t least) { return least != never && nodes >= least; }

fusion at_least(std::uint64_t nodes, std::uint32_t least) {
  return reaches(nodes, least) ? fusion::stage : fusion::operation;
}

/// Selections among `left` columns in each of so many trees.
std::vector<fusion> choose_selections(const fusion_row& row, std::uint32_t left, std::uint64_t trees) {
  std::vector<fusion> made;
  while (left > 1) {
    const auto bits = static_cast<unsigned>(std::bit_width(left - 1));
    const std::uint32_t kept = std::uint32_t{1} << (bits - 1);
    fusion how = at_least((left - kept) * trees, row.selection);
    if (bits >= 2 && reaches(kept / 2 * trees, row.subtree)) how = fusion::subtree;
    if (bits >= 3 && reaches(kept / 4 * trees, row.subtree_3)) how = fusion::subtree_3;
    made.insert(made.end(), levels_of(how), how);
    left = std::uint32_t{1} << (bits - levels_of(how));
  }
  return made;
}

}  // namespace

const fusion_row& fusion_row_of(std::string_view device, unsigned log_n) {
  const std::string_view kind = device.starts_with("cuda") ? "cuda" : "cpu";
  const auto distance = [log_n](const fusion_row& row) {
    return row.log_n > log_n ? row.log_n - log_n : log_n - row.log_n;
  };
  const fusion_row* best = nullptr;
  for (const fusion_row& row : rows) {
    if (row.device == kind && (best == nullptr || distance(row) < distance(*best))) best = &row;
  }
  return *best;
}

fusion_choice choose_fusion(const context& ctx, std::size_t batch, std::uint32_t columns) {
  fusion_choice made = choose_fusion(ctx.shape(), ctx.device().name(), batch, columns);
  made.turned = made.turned && ctx.point_block() == backend::points_per_block;
  return made;
}

fusion_choice choose_fusion(const geometry& shape, std::string_view device, std::size_t batch,
                            std::uint32_t columns) {
  return choose_fusion(shape, fusion_row_of(device, shape.scheme.source().log_n), batch, columns);
}

fusion_choice choose_fusion(const geometry& shape, const fusion_row& row, std::size_t batch,
                            std::uint32_t columns) {
  const unsigned depth = shape.at.expansion_depth(shape.scheme);
  const std::uint64_t leaves = shape.at.packed(shape.scheme);
  fusion_choice made{{}, {}, row.turned};
  for (unsigned level = 0; level < depth; ++level) {
    made.expansion.push_back(at_least((((leaves - 1) >> (depth - level)) + 1) * batch, row.expansion));
  }
  const std::uint32_t left = columns == 0 ? shape.at.columns : std::min(columns, shape.at.columns);
  made.selection = choose_selections(row, left, std::uint64_t{shape.planes()} * batch);
  // Trees of a single node have no level.
  if (made.expansion.empty()) made.expansion.push_back(fusion::stage);
  if (made.selection.empty()) made.selection.push_back(fusion::stage);
  return made;
}

}  // namespace halocline::pir
