// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/security.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halocline::params {
namespace {

using ::testing::HasSubstr;

constexpr secret_distribution ternary{};

double bits(unsigned log_n, double log2_pq, secret_distribution secret = ternary) {
  return estimate_security(log_n, log2_pq, secret, 3.2).bits;
}

TEST(Security, RowsGiveTheirLevel) {
  ASSERT_EQ(security_rows().size(), 30U);
  for (const security_row& row : security_rows()) {
    const secret_distribution secret{row.hamming_weight == 0 ? secret_kind::ternary : secret_kind::sparse,
                                     row.hamming_weight};
    EXPECT_NEAR(bits(row.log_n, row.max_log2_pq, secret), row.level, 1e-9);
    EXPECT_FALSE(row.source.empty());
  }
}

// ePrint 2024/463, Table 5.2, where it differs from the output of its script the smaller figure.
TEST(Security, BoundsFor128Bits) {
  const double bounds[] = {26, 53, 106, 214, 430, 868, 1747, 3523};
  for (unsigned log_n = 10; log_n <= 17; ++log_n) {
    const double bound = bounds[log_n - 10];
    EXPECT_EQ(estimate_security(log_n, bound, ternary, 3.2).max_log2_pq, bound);
    EXPECT_GE(bits(log_n, bound), 128);
    EXPECT_LT(bits(log_n, bound + 0.001), 128);
  }
}

TEST(Security, FallsWithTheModulus) {
  double last = 1000;
  for (double log2_pq = 100; log2_pq < 1000; log2_pq += 1) {
    const double now = bits(14, log2_pq);
    EXPECT_LE(now, last);
    last = now;
  }
  EXPECT_EQ(bits(14, 10), 256);          // not extrapolated above the tables
  EXPECT_NEAR(bits(14, 860), 64, 1e-9);  // twice the bound for 128 bits
  // In the middle of 1/430 and 1/297.
  EXPECT_NEAR(bits(14, 2 / (1.0 / 430 + 1.0 / 297)), 160, 1e-9);
}

TEST(Security, SparseSecretsTakeTheRowsBelowTheirWeight) {
  EXPECT_EQ(bits(16, 1553, {secret_kind::sparse, 192}), 128);
  EXPECT_EQ(bits(16, 1553, {secret_kind::sparse, 5000}), 128);
  EXPECT_LT(bits(16, 1554, {secret_kind::sparse, 192}), 128);
  EXPECT_EQ(bits(16, 300, {secret_kind::sparse, 191}), 128);  // as weight 128
  EXPECT_LT(bits(16, 301, {secret_kind::sparse, 191}), 128);
  EXPECT_EQ(bits(14, 100, {secret_kind::sparse, 192}), 0);
  EXPECT_THAT(estimate_security(14, 100, {secret_kind::sparse, 64}, 3.2).source,
              HasSubstr("Hamming weight 64"));
}

// Secrets of encapsulation: weight 32 with some 120 bits; no row at all for it at ring degree 2^15.
TEST(Security, EphemeralSecrets) {
  EXPECT_EQ(bits(16, 121, {secret_kind::sparse, 32}), 128);
  EXPECT_LT(bits(16, 121.5, {secret_kind::sparse, 32}), 128);
  EXPECT_EQ(bits(17, 121, {secret_kind::sparse, 64}), 128);
  EXPECT_EQ(bits(16, 100, {secret_kind::sparse, 31}), 0);
  EXPECT_EQ(bits(15, 100, {secret_kind::sparse, 32}), 0);
  EXPECT_EQ(bits(15, 300, {secret_kind::sparse, 128}), 128);
  EXPECT_THAT(estimate_security(16, 120, {secret_kind::sparse, 32}, 3.2).source, HasSubstr("SparseLWEkit"));
}

TEST(Security, NoRowNoClaim) {
  EXPECT_EQ(bits(9, 10), 0);
  EXPECT_EQ(bits(18, 10), 0);
  EXPECT_EQ(estimate_security(14, 100, ternary, 3.0).bits, 0);
  EXPECT_THAT(estimate_security(18, 100, ternary, 3.2).source, HasSubstr("ring degree 2^18"));
}

}  // namespace
}  // namespace halocline::params
