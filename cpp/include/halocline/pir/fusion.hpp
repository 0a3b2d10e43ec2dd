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
  subtree,    ///< a selection and the next one at once, whose entry does not count: `select_tree`
  subtree_3,  ///< the same, and the one after that
};
/// Levels that a kernel takes at once.
[[nodiscard]] constexpr unsigned levels_of(fusion how) noexcept {
  return how == fusion::subtree ? 2 : how == fusion::subtree_3 ? 3 : 1;
}

/// Fusion of each level; levels beyond the end take the last entry. Expansions have no subtrees
/// (docs/concepts/cuda_retrieval.md says why) and take `stage` for them; selections with fewer levels left
/// than a subtree has take as many as there are.
struct fusion_choice {
  std::vector<fusion> expansion{fusion::stage};  ///< from the root
  std::vector<fusion> selection{fusion::stage};  ///< from the largest number of columns
  /// The last level of the expansion brings the leaves that select rows into the order of `row_select`, where
  /// its fusion is `stage`; else a pass of its own does.
  bool turned = false;
};

/// In place of a number of nodes: never.
inline constexpr std::uint32_t never = ~std::uint32_t{0};

/// A row of the table of switch points: fused kernels are faster from so many nodes of a level on, all
/// queries of the batch together.
struct fusion_row {
  std::string_view device;      ///< "cpu" or "cuda"
  unsigned log_n = 0;           ///< of the ring; the nearest row of a device counts
  std::uint32_t expansion = 0;  ///< nodes that have children
  std::uint32_t selection = 0;  ///< pairs
  std::uint32_t subtree = 0;    ///< subtrees of two selections, results of which are counted
  std::uint32_t subtree_3 = 0;  ///< of three, where they are faster than those of two
  bool turned = false;          ///< as in `fusion_choice`
};

/// The row of a device; "cuda:1" is "cuda". Ghosts have that of processors.
[[nodiscard]] const fusion_row& fusion_row_of(std::string_view device, unsigned log_n);

/// The choice of the table for a batch of so many queries.
/// @param columns that are selected among at once; 0: all
[[nodiscard]] fusion_choice choose_fusion(const geometry& shape, std::string_view device, std::size_t batch,
                                          std::uint32_t columns = 0);
/// That of any row.
[[nodiscard]] fusion_choice choose_fusion(const geometry& shape, const fusion_row& row, std::size_t batch,
                                          std::uint32_t columns = 0);
[[nodiscard]] fusion_choice choose_fusion(const context& ctx, std::size_t batch, std::uint32_t columns = 0);

}  // namespace halocline::pir
