// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/fusion.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace halocline::pir {
namespace {

/// Processors: measured with `halocline_retrieval_bench`, fused kernels are 1.3 to 2.4 times as fast in every
/// level, because digits stay in the second-level cache. GPUs: a fused kernel has a block for each node, so
/// that a level with fewer nodes than an H200 has multiprocessors (132) leaves some without work; counted
/// from instructions and bytes (docs/concepts/cuda_retrieval.md), not measured yet.
constexpr std::array<fusion_row, 4> rows{{
    {"cpu", 11, 0, 0, false},
    {"cpu", 12, 0, 0, false},
    {"cuda", 11, 132, 132, true},
    {"cuda", 12, 132, 132, true},
}};

fusion at_least(std::uint64_t nodes, std::uint32_t least) {
  return nodes >= least ? fusion::stage : fusion::operation;
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
  return choose_fusion(ctx.shape(), ctx.device().name(), batch, columns);
}

fusion_choice choose_fusion(const geometry& shape, std::string_view device, std::size_t batch,
                            std::uint32_t columns) {
  const fusion_row& row = fusion_row_of(device, shape.scheme.source().log_n);
  const unsigned depth = shape.at.expansion_depth(shape.scheme);
  const std::uint64_t leaves = shape.at.packed(shape.scheme);
  fusion_choice made{{}, {}, row.turned};
  for (unsigned level = 0; level < depth; ++level) {
    made.expansion.push_back(at_least((((leaves - 1) >> (depth - level)) + 1) * batch, row.expansion));
  }
  std::uint32_t left = columns == 0 ? shape.at.columns : std::min(columns, shape.at.columns);
  while (left > 1) {
    const std::uint32_t kept = std::bit_ceil(left) / 2;
    made.selection.push_back(at_least(std::uint64_t{left - kept} * shape.planes() * batch, row.selection));
    left = kept;
  }
  // Trees of a single node have no level.
  if (made.expansion.empty()) made.expansion.push_back(fusion::stage);
  if (made.selection.empty()) made.selection.push_back(fusion::stage);
  return made;
}

}  // namespace halocline::pir
