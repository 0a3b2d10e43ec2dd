// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/cluster_params.hpp"

/// Shapes of the fused kernels, per architecture.
namespace halocline::backend::cuda {

/// How a node is computed.
struct fused_choice {
  std::uint8_t e = 3;  ///< words per thread, as a power of two: 3 or 4
  bool staged = true;  ///< twiddles and rows come through shared memory
  /// Where blocks that compute all limbs of a node are fewer than this many per multiprocessor, each limb of
  /// an expansion has a block of its own, which repeats the node's inverse transforms. 0: never.
  std::uint8_t split_below = 1;
  /// A node is computed in a cluster of blocks where `has_cluster` says so; what stands above is for the
  /// rest.
  bool cluster = false;
  bool inner = true;  ///< blocks of subtrees keep a ciphertext in shared memory
};

/// A row applies when all its bounds hold; the first that applies counts.
struct fused_tuning_row {
  int architecture;     ///< 90: compute capability 9.0; 0: any
  unsigned components;  ///< 1: expansion, 2: selection
  unsigned log_n;       ///< 0: any
  fused_choice choice;
};

/// Eight words a thread leave all sums in registers: 78 to 106 of them, nothing spilled, 24 warps a
/// multiprocessor at N = 2^11 (three blocks) and 16 at N = 2^12 (one). Sixteen take fewer instructions, 69
/// instead of 76 a word and transform, but 128 to 168 registers. Rows for 9.0 were measured on an H200 with
/// two primes for 2^11 and four for 2^12: many nodes take 22 % less time with sixteen words (expansion, 2^12)
/// and 10 % less (selection, 2^11). Clusters are not measured.
inline constexpr fused_tuning_row fused_tuning[] = {
    {90, 1, 11, {3, true, 1, true}},  {90, 2, 11, {4, false, 1, false}}, {90, 1, 12, {4, false, 1, true}},
    {90, 2, 12, {3, true, 1, false}}, {0, 0, 0, {3, true, 1, false}},
};

/// Largest ring: 512 threads of 16 words.
inline constexpr unsigned most_fused_log_n = 13;
inline constexpr unsigned most_fused_threads = 512;

/// Shared memory that a block may have.
[[nodiscard]] constexpr std::uint32_t most_fused_bytes(int architecture) {
  return (architecture >= 90 ? 227U : architecture == 80 ? 163U : 99U) << 10;
}

/// Blocks that a multiprocessor must have room for, from which follows how many registers a thread may have:
/// 168 (N = 2^11) or 128 for 16 words, 80 or 128 for 8.
[[nodiscard]] constexpr unsigned fused_blocks(unsigned e, unsigned log_n, unsigned components) {
  if (log_n == 11) return 3;
  return log_n == 12 && e == 4 && components == 1 ? 2 : 1;
}

/// What benchmarks and tests have set; nullptr: the table counts.
inline const fused_choice* fused_override = nullptr;
/// For benchmarks and tests: replaces the choice for all jobs; nullptr: back to the table. Not thread-safe.
inline void override_fused(const fused_choice* choice) noexcept { fused_override = choice; }

/// Shape for jobs: twiddles and rows are only in shared memory where they fit, and 8 words a thread are for N
/// = 2^11 and 2^12.
[[nodiscard]] inline fused_choice choose_fused(int architecture, unsigned components, unsigned log_n,
                                               std::uint32_t limbs) noexcept {
  fused_choice choice;
  if (fused_override != nullptr) {
    choice = *fused_override;
  } else {
    for (const fused_tuning_row& row : fused_tuning) {
      if ((row.architecture != 0 && row.architecture != architecture) ||
          (row.components != 0 && row.components != components) || (row.log_n != 0 && row.log_n != log_n))
        continue;
      choice = row.choice;
      break;
    }
  }
  if (log_n != 11 && log_n != 12) choice.e = 4;
  if (!has_cluster(architecture, log_n, limbs)) choice.cluster = false;
  if (fused_shared_bytes(choice.e, components, limbs, log_n, choice.staged) > most_fused_bytes(architecture))
    choice.staged = false;
  return choice;
}

/// Shape for subtrees, without clusters: eight words a thread, and a ciphertext in shared memory only where
/// it fits beside the rest.
[[nodiscard]] inline fused_choice choose_tree(int architecture, unsigned log_n,
                                              std::uint32_t limbs) noexcept {
  fused_choice choice = fused_override != nullptr ? *fused_override : fused_choice{};
  if (log_n != 11 && log_n != 12) choice.e = 4;
  const std::uint32_t most = most_fused_bytes(architecture);
  choice.staged = choice.staged && fused_shared_bytes(choice.e, 2, limbs, log_n, true) <= most;
  choice.inner = choice.inner && fused_shared_bytes(choice.e, 2, limbs, log_n, choice.staged, true) <= most;
  return choice;
}

/// Limbs that a block of an expansion computes.
[[nodiscard]] constexpr std::uint32_t fused_targets(const fused_choice& choice, std::uint32_t nodes,
                                                    std::uint32_t limbs, std::uint32_t multiprocessors) {
  return nodes < choice.split_below * multiprocessors ? 1 : limbs;
}

}  // namespace halocline::backend::cuda
