// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/backend/descriptors.hpp"

/// Batch descriptors of products of matrices whose entries are polynomials. One job covers whole matrices,
/// because they have tens of thousands of limbs.
namespace halocline::backend {

/// Entries of a matrix, row by row, each of which is some polynomials modulo `primes` behind each other.
struct matrix_view {
  const memory::buffer* data = nullptr;
  std::uint32_t limb = 0;  ///< where the first entry begins
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
};

/// c_ij = sum_t (a0 b0, a0 b1 + a1 b0, a1 b1) with (a0, a1) = a_it and (b0, b1) = b_tj, modulo every prime,
/// with one reduction for each word of c (added to c when `accumulate`). Entries of a and b have two
/// polynomials, those of c three. c shares no limb with a and b.
struct matrix_job {
  matrix_view c;
  matrix_view a;
  matrix_view b;
  window primes;
  bool accumulate = false;
};

}  // namespace halocline::backend
