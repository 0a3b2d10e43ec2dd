// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/retrieval/row_select_params.hpp"

/// Body of the kernel that sums over rows of point-major matrices with 32-bit multiply-adds.
namespace halocline::backend::cuda {

/// A column at a point: what a warp computes, for all queries.
struct dots_place {
  std::uint32_t limb;
  std::uint32_t column;
  std::size_t point;  ///< of all limbs
};
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint64_t dots_items(const row_select_params& p) {
  return (std::uint64_t{p.limbs} << p.log_n) * p.columns;
}
[[nodiscard]] HALOCLINE_HOST_DEVICE inline dots_place dots_find(const row_select_params& p,
                                                                std::uint64_t item) {
  const std::size_t point = item / p.columns;
  return {static_cast<std::uint32_t>(point >> p.log_n), static_cast<std::uint32_t>(item % p.columns), point};
}

/// a + b below q 2^32, as both are.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint64_t dots_add(std::uint64_t a, std::uint64_t b,
                                                                  std::uint32_t q) {
  const std::uint64_t bound = static_cast<std::uint64_t>(q) << 32, sum = a + b;
  return sum < bound ? sum : sum - bound;
}

/// A lane's part of the sum for component `c` of a query.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint64_t dots_part(const row_select_params& p,
                                                                   const dots_place& at, std::uint32_t query,
                                                                   std::uint32_t c, std::uint32_t lane) {
  const std::uint32_t q = p.moduli[at.limb].value;
  const std::uint32_t* const rows = p.database + (at.point * p.columns + at.column) * p.rows;
  const std::uint32_t* const selectors = p.items[query].selectors + at.point * 2 * p.rows + c;
  std::uint64_t sum = 0;
  for (std::uint32_t r = lane; r < p.rows; r += 32) {
    sum = dots_add(sum, static_cast<std::uint64_t>(rows[r]) * selectors[std::size_t{2} * r], q);
  }
  return sum;
}

/// Writes a whole sum, divided by 2^32.
HALOCLINE_HOST_DEVICE inline void dots_store(const row_select_params& p, const dots_place& at,
                                             std::uint32_t query, std::uint32_t c, std::uint64_t sum) {
  const std::size_t point = at.point + (static_cast<std::size_t>(c * p.limbs) << p.log_n);
  p.items[query].dst.at(at.column)[point] = arith::montgomery_reduce<std::uint32_t>(sum, p.moduli[at.limb]);
}

}  // namespace halocline::backend::cuda
