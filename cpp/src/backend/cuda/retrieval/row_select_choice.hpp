// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/retrieval/row_select_mma_params.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// Which kernel computes sums over rows, per architecture.
namespace halocline::backend::cuda {

/// Kernel of `row_select`. Those with matrix instructions differ in what a block computes.
enum class row_select_kernel : std::uint8_t {
  integer,    ///< multiply-adds of 32-bit words
  matrix_4,   ///< matrix instructions: 128 columns, four queries
  matrix_8,   ///< 64 columns, eight queries
  matrix_16,  ///< 32 columns, sixteen queries
};

/// A row applies when all its bounds hold; the first that applies counts.
struct row_select_row {
  int architecture;  ///< 90: compute capability 9.0; 0: any
  std::uint32_t queries_min, columns_min;
  row_select_kernel kernel;
};

/// Not measured. A block reads columns + selectors words for columns * selectors products, so that more
/// queries want the square one. With one or two queries, reading the database once takes longer than its
/// products on integer units; with few columns, most rows of the left matrices would not exist.
inline constexpr row_select_row row_select_tuning[] = {
    {0, 12, 8, row_select_kernel::matrix_16},
    {0, 6, 8, row_select_kernel::matrix_8},
    {0, 3, 8, row_select_kernel::matrix_4},
    {0, 0, 0, row_select_kernel::integer},
};

/// What benchmarks and tests have set; nullptr: the table counts.
inline const row_select_kernel* row_select_override = nullptr;

/// The kernel for a job: what a benchmark has set, or the table's; `integer` where sums of matrix
/// instructions might not fit.
[[nodiscard]] inline row_select_kernel choose_row_select(int architecture, std::uint32_t columns,
                                                         std::uint32_t rows, std::uint32_t queries) noexcept {
  if (rows > row_mma_rows) return row_select_kernel::integer;
  if (row_select_override != nullptr) return *row_select_override;
  for (const row_select_row& row : row_select_tuning) {
    if ((row.architecture == 0 || row.architecture == architecture) && queries >= row.queries_min &&
        columns >= row.columns_min)
      return row.kernel;
  }
  return row_select_kernel::integer;
}

/// Whether point-major matrices are multiplied by warpgroups (`row_select_warpgroup.cuh`): their instructions
/// are those of compute capability 9.0 and no other, and rows are copied four at a time. Otherwise warps do
/// it, one row a thread.
[[nodiscard]] constexpr bool warpgroups_select(int architecture, std::uint32_t rows) noexcept {
  return architecture == 90 && rows % 4 == 0 && rows <= row_mma_rows;
}

/// `capability::point_block` of a card.
[[nodiscard]] constexpr std::uint32_t point_block_of(int architecture) noexcept {
  return architecture == 90 ? 1 : points_per_block;
}

/// For benchmarks and tests: replaces the choice for all jobs; nullptr: back to the table. Not thread-safe.
inline void override_row_select(const row_select_kernel* kernel) noexcept { row_select_override = kernel; }

}  // namespace halocline::backend::cuda
