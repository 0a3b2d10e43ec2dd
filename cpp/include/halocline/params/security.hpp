// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halocline/params/literal.hpp"

/// Published bounds on log2(PQ) and what they say about a parameter set.
namespace halocline::params {

/// Smallest security that parameters may have without `allow_insecure`.
inline constexpr unsigned required_security = 128;

/// One row of the tables: with ring degree 2^log_n and this secret, log2(PQ) <= max_log2_pq gives `level`
/// bits.
struct security_row {
  unsigned level;  ///< 128, 192 or 256 bits, classical attacks
  unsigned log_n;
  unsigned hamming_weight;  ///< of a sparse secret; 0 for uniform ternary
  double max_log2_pq;
  std::string_view source;  ///< publication and table
};

/// All rows, ordered by hamming weight, log_n, level.
[[nodiscard]] const std::vector<security_row>& security_rows();

/// What the tables say about one parameter set.
struct security_estimate {
  double bits = 0;         ///< estimated security (interpolated), 0 when no row applies
  double max_log2_pq = 0;  ///< bound for 128 bits, 0 when no row applies
  std::string source;      ///< where the bound comes from, for `params show`
};

/// Security of ring degree 2^log_n with modulus log2(PQ) = `log2_pq`.
///
/// Between rows of the same ring degree the security is linear in 1/log2(PQ) (the cost exponent of lattice
/// reduction is nearly proportional to N / log2(PQ)); above the smallest modulus of a table it stays at that
/// row's level, and below 128 bits it is the 128-bit row scaled by bound / log2_pq, an estimate for reports
/// only. A sparse secret takes the rows of the largest tabled weight that does not exceed its own; below the
/// smallest tabled weight no row applies.
/// @param error_stddev below 3.19 no row applies: the tables assume sigma = 8 / sqrt(2 pi), about 3.19
[[nodiscard]] security_estimate estimate_security(unsigned log_n, double log2_pq,
                                                  const secret_distribution& secret, double error_stddev);

}  // namespace halocline::params
