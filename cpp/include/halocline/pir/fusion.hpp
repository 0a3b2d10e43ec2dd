// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "halocline/pir/context.hpp"

/// Which kernels expand and select: a choice for each level of the two trees of a batch.
namespace halocline::pir {

/// Kernels of a tree level.
enum class fusion : std::uint8_t {
  operation,  ///< one backend operation for each primitive, over all ciphertexts
  stage,      ///< a node at once: `expand_node`, `select_pair`
};

/// Fusion of each level; levels beyond the end take the last entry.
struct fusion_choice {
  std::vector<fusion> expansion{fusion::stage};  ///< from the root
  std::vector<fusion> selection{fusion::stage};  ///< from the largest number of columns
  /// The last level of the expansion brings the leaves that select rows into the order of `row_select`, where
  /// its fusion is `stage`; else a pass of its own does.
  bool turned = false;
};

/// A row of the table of switch points: fused kernels are faster from so many nodes of a level on, all
/// queries of the batch together.
struct fusion_row {
  std::string_view device;      ///< "cpu" or "cuda"
  unsigned log_n = 0;           ///< of the ring; the nearest row of a device counts
  std::uint32_t expansion = 0;  ///< nodes that have children
  std::uint32_t selection = 0;  ///< pairs
  bool turned = false;          ///< as in `fusion_choice`
};

/// The row of a device; "cuda:1" is "cuda". Ghosts have that of processors.
[[nodiscard]] const fusion_row& fusion_row_of(std::string_view device, unsigned log_n);

/// The choice of the table for a batch of so many queries.
/// @param columns that are selected among at once; 0: all
[[nodiscard]] fusion_choice choose_fusion(const geometry& shape, std::string_view device, std::size_t batch,
                                          std::uint32_t columns = 0);
[[nodiscard]] fusion_choice choose_fusion(const context& ctx, std::size_t batch, std::uint32_t columns = 0);

}  // namespace halocline::pir
