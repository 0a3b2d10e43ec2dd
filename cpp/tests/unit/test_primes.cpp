// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/primes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "halocline/core/error.hpp"

namespace halocline::params {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Primes, AgreesWithASieve) {
  constexpr std::size_t bound = 200'000;
  std::vector<bool> composite(bound, false);
  for (std::size_t p = 2; p < bound; ++p) {
    EXPECT_EQ(is_prime(p), !composite[p]) << p;
    for (std::size_t k = 2 * p; !composite[p] && k < bound; k += p) composite[k] = true;
  }
  EXPECT_FALSE(is_prime(0));
  EXPECT_FALSE(is_prime(1));
}

TEST(Primes, KnownLargeValues) {
  EXPECT_TRUE(is_prime(18446744073709551557U));  // largest below 2^64 (OEIS A014234)
  EXPECT_FALSE(is_prime(18446744073709551615U));
  EXPECT_TRUE(is_prime(0x1fffffffffe00001U));  // 2^61 - 2^21 + 1
  EXPECT_TRUE(is_prime(0xffffffff00000001U));  // 2^64 - 2^32 + 1
  // Smallest strong pseudoprimes to the first 4, 9 and 11 prime bases (OEIS A014233).
  EXPECT_FALSE(is_prime(3215031751U));
  EXPECT_FALSE(is_prime(3825123056546413051U));
  EXPECT_FALSE(is_prime(4294967297U));                    // Fermat number F5 = 641 * 6700417
  EXPECT_FALSE(is_prime(4294967291ULL * 4294967279ULL));  // the two largest 32-bit primes
}

TEST(Primes, BelowIsDescendingCompleteAndAvoids) {
  const std::uint64_t two_n = 1U << 15U;
  const auto found = primes_below(30, 10, two_n);
  ASSERT_EQ(found.size(), 10U);
  std::uint64_t expected = (1U << 30U) + 1;
  for (const std::uint64_t q : found) {
    do expected -= two_n;
    while (!is_prime(expected));
    EXPECT_EQ(q, expected);
  }
  const auto others = primes_below(30, 3, two_n, std::vector<std::uint64_t>{found[0], found[2]});
  EXPECT_EQ(others, (std::vector<std::uint64_t>{found[1], found[3], found[4]}));
}

TEST(Primes, FractionalBits) {
  const auto found = primes_below(51.5, 4, 1U << 18U);
  for (const std::uint64_t q : found) {
    EXPECT_LT(std::log2(static_cast<double>(q)), 51.5);
    EXPECT_GT(std::log2(static_cast<double>(q)), 51.499);
    EXPECT_EQ(q % (1U << 18U), 1U);
  }
}

TEST(Primes, NearestIsNearestOnALogarithmicScale) {
  // All primes 1 mod 2^17 within half a bit of 2^20, by hand: 786433 (19.58) and 1179649 (20.17).
  EXPECT_EQ(nearest_prime(20, 1U << 17U), 1179649U);
  EXPECT_EQ(nearest_prime(20, 1U << 17U, std::vector<std::uint64_t>{1179649}), 786433U);
  EXPECT_EQ(nearest_prime(19.6, 1U << 17U), 786433U);
  EXPECT_THAT(
      [] {
        (void)nearest_prime(20, 1U << 17U, std::vector<std::uint64_t>{1179649, 786433});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("within half a bit of 2^20")));
}

TEST(Primes, RefusesWhatDoesNotExist) {
  EXPECT_THAT([] { (void)primes_below(21, 100, 1U << 17U); },
              ThrowsMessage<invalid_argument>(HasSubstr("expected 100; ask for fewer")));
  EXPECT_THROW((void)primes_below(62, 1, 1U << 15U), invalid_argument);
  EXPECT_THROW((void)primes_below(15, 1, 1U << 15U), invalid_argument);
  EXPECT_THROW((void)primes_below(std::nan(""), 1, 1U << 15U), invalid_argument);
  EXPECT_THROW((void)primes_below(30, 1, 12345), invalid_argument);
  EXPECT_EQ(primes_below(15.001, 0, 1U << 15U).size(), 0U);
}

}  // namespace
}  // namespace halocline::params
