// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/security.hpp"

#include <algorithm>

#include "halocline/core/expects.hpp"

namespace halocline::params {

namespace {

constexpr std::string_view guidelines =
    "Security Guidelines for Implementing Homomorphic Encryption (ePrint 2024/463), Table 5.2, ternary "
    "secret, classical attacks";
constexpr std::string_view sparse =
    "bounds in common use for Hamming weight 192, estimated at 133.9 bits or more by the lattice estimator "
    "5ba00f5 (SparseLWEkit, sets 5 to 7)";
constexpr std::string_view encapsulated =
    "171.9 bits for weight 32 and log2(PQ) = 121 at ring degree 2^16 by the lattice estimator 6019056 "
    "(SparseLWEkit, set 9 of lattice_estimator_estimates.csv)";
constexpr std::string_view encapsulated_wide =
    "232.5 bits for weight 128 and log2(PQ) = 300 at ring degree 2^15 by the lattice estimator 5ba00f5 "
    "(SparseLWEkit, set 10 of lattice_estimator_former.csv)";
constexpr std::string_view heaan =
    "157.2 bits for weight 128 and log2(PQ) = 2341 at ring degree 2^17 by the lattice estimator 5ba00f5 "
    "(SparseLWEkit, set 1)";

/// The tables assume sigma = 8 / sqrt(2 pi), rounded down to two digits as their scripts do.
constexpr double tabled_stddev = 3.19;

std::vector<security_row> build_rows() {
  struct ternary_bounds {
    unsigned log_n;
    double bits128, bits192, bits256;
  };
  // Where the table of the paper's authors and the output of their script differ by one bit, the smaller one.
  constexpr ternary_bounds ternary[] = {
      {11, 53, 36, 27},    {12, 106, 73, 56},     {13, 214, 147, 114},    {14, 430, 297, 230},
      {15, 868, 597, 462}, {16, 1747, 1199, 929}, {17, 3523, 2411, 1866},
  };
  std::vector<security_row> rows{{128, 10, 0, 26, guidelines}};
  for (const ternary_bounds& b : ternary) {
    rows.push_back({128, b.log_n, 0, b.bits128, guidelines});
    rows.push_back({192, b.log_n, 0, b.bits192, guidelines});
    rows.push_back({256, b.log_n, 0, b.bits256, guidelines});
  }
  // What is secure stays so at a larger ring degree with the same weight and modulus.
  rows.push_back({128, 16, 32, 121, encapsulated});
  rows.push_back({128, 17, 32, 121, encapsulated});
  rows.push_back({128, 15, 128, 300, encapsulated_wide});
  rows.push_back({128, 16, 128, 300, encapsulated_wide});
  rows.push_back({128, 17, 128, 2341, heaan});
  rows.push_back({128, 15, 192, 767, sparse});
  rows.push_back({128, 16, 192, 1553, sparse});
  rows.push_back({128, 17, 192, 3104, sparse});
  return rows;
}

/// Rows of one ring degree and weight, by rising level, that is by falling modulus.
std::vector<security_row> select_rows(unsigned log_n, unsigned weight) {
  std::vector<security_row> result;
  for (const security_row& row : security_rows()) {
    if (row.log_n == log_n && row.hamming_weight == weight) result.push_back(row);
  }
  return result;
}

/// Largest tabled weight for this ring degree that is at most `weight`; 0 when there is none.
unsigned tabled_weight(unsigned log_n, unsigned weight) {
  unsigned best = 0;
  for (const security_row& row : security_rows()) {
    if (row.log_n == log_n && row.hamming_weight <= weight) best = std::max(best, row.hamming_weight);
  }
  return best;
}

double interpolate(const std::vector<security_row>& rows, double log2_pq) {
  if (log2_pq > rows.front().max_log2_pq) return rows.front().level * rows.front().max_log2_pq / log2_pq;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (log2_pq <= rows[i].max_log2_pq) continue;
    const double inverse = 1 / log2_pq;
    const double low = 1 / rows[i - 1].max_log2_pq;
    const double high = 1 / rows[i].max_log2_pq;
    return rows[i - 1].level + (inverse - low) / (high - low) * (rows[i].level - rows[i - 1].level);
  }
  return rows.back().level;
}

}  // namespace

const std::vector<security_row>& security_rows() {
  static const auto& rows = *new std::vector<security_row>(build_rows());  // threads outlive static objects
  return rows;
}

security_estimate estimate_security(unsigned log_n, double log2_pq, const secret_distribution& secret,
                                    double error_stddev) {
  security_estimate result;
  if (!(error_stddev >= tabled_stddev)) {
    result.source =
        text("no published bound applies: error_stddev ", error_stddev, " is below ", tabled_stddev);
    return result;
  }
  const bool is_sparse = secret.kind == secret_kind::sparse;
  const unsigned weight = is_sparse ? tabled_weight(log_n, secret.hamming_weight) : 0;
  const std::vector<security_row> rows = select_rows(log_n, weight);
  if (rows.empty() || (is_sparse && weight == 0)) {
    result.source =
        text("no published bound applies to ring degree 2^", log_n,
             is_sparse ? text(" with a secret of Hamming weight ", secret.hamming_weight,
                              " (tabled: weight 32 and more for 2^16 and 2^17, 128 and more for 2^15)")
                       : std::string(" (tabled: 2^10..2^17)"));
    return result;
  }
  result.bits = interpolate(rows, log2_pq);
  result.max_log2_pq = rows.front().max_log2_pq;
  result.source = rows.front().source;
  return result;
}

}  // namespace halocline::params
