// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/arith.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// Matrices of points that are point-major, on the CPU: a specification of what accelerators do. Databases of
/// a CPU have blocks of points, for which there are vector kernels.
namespace halocline::backend::cpu {

/// `turn_points` of the `points_per_block` points whose rows begin at `dst`. @param from first point of
/// polynomial i
template <typename FromT>
void turn_point_major(std::uint32_t* dst, const turn_job& job, const FromT& from) {
  for (std::uint32_t i = 0; i < job.count; ++i) {
    const std::uint32_t* const src = from(i);
    const std::size_t row = job.first + std::size_t{i} * job.step;
    for (std::uint32_t point = 0; point < points_per_block; ++point) {
      dst[std::size_t{point} * job.dst.rows + row] = src[point];
    }
  }
}

/// A column of a database of `columns` times `rows` rows.
struct point_column {
  std::uint32_t rows, columns, number;
};

/// `row_select` of a column at `points_per_block` points, for both components of a query.
/// @param database, selectors first rows of the first of these points
inline void select_points(std::uint32_t* const (&dst)[2], const std::uint32_t* database,
                          const std::uint32_t* selectors, const point_column& of,
                          const arith::modulus<std::uint32_t>& q) {
  const std::uint64_t bound = std::uint64_t{q.value} << 32;
  for (std::uint32_t point = 0; point < points_per_block; ++point) {
    const std::uint32_t* const row = database + (std::size_t{point} * of.columns + of.number) * of.rows;
    const std::uint32_t* const selector = selectors + std::size_t{point} * 2 * of.rows;
    for (std::uint32_t c = 0; c < 2; ++c) {
      std::uint64_t sum = 0;  // below q 2^32, as what is added
      for (std::uint32_t r = 0; r < of.rows; ++r) {
        sum += std::uint64_t{selector[2 * r + c]} * row[r];
        if (sum >= bound) sum -= bound;
      }
      dst[c][point] = arith::montgomery_reduce<std::uint32_t>(sum, q);
    }
  }
}

}  // namespace halocline::backend::cpu
