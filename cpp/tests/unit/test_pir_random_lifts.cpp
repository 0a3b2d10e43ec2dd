// SPDX-License-Identifier: Apache-2.0
#include "pir/random_lifts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "halocline/core/error.hpp"
#include "support/pir_rig.hpp"

namespace halocline::pir {
namespace {

using test::bytes;

/// Number `index` of `width` bits, by definition; zero bits behind the end.
std::uint64_t number(const bytes& packed, std::size_t index, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    const std::size_t bit = index * width + i;
    if (bit / 8 >= packed.size()) break;
    value |= (std::to_integer<std::uint64_t>(packed[bit / 8]) >> (bit % 8) & 1) << i;
  }
  return value;
}

std::int64_t integer(const bytes& packed, std::size_t index, unsigned width) {
  const auto value = static_cast<std::int64_t>(number(packed, index, width));
  return value >> (width - 1) == 0 ? value : value - (std::int64_t{1} << width);
}

bytes lifted(const random_lifts& by, const bytes& plain, std::uint64_t plaintext = 0,
             std::uint32_t plane = 0) {
  bytes out(by.bytes(plain.size()), std::byte{0xA5});
  by.write(plain, plaintext, plane, out);
  return out;
}

TEST(PirRandomLifts, StandForTheSameCoefficients) {
  for (const unsigned bits : {2U, 3U, 10U, 13U, 16U, 17U, 24U, 31U}) {
    const random_lifts by(bits, test::seed_of(1));
    const std::int64_t t = std::int64_t{1} << bits;
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{8} * bits - 1,
                                   std::size_t{64} * bits, std::size_t{128} * bits - 5}) {
      const bytes plain = test::random_bytes(size, bits);
      const bytes found = lifted(by, plain);
      const std::size_t coefficients = (8 * size + bits - 1) / bits;
      std::size_t below = 0;
      for (std::size_t j = 0; j < coefficients; ++j) {
        const auto wanted = static_cast<std::int64_t>(number(plain, j, bits));
        const std::int64_t value = integer(found, j, bits + 1);
        ASSERT_TRUE(value == wanted || (wanted != 0 && value == wanted - t))
            << bits << ", " << size << ", " << j;
        if (value < 0) ++below;
      }
      for (std::size_t bit = coefficients * (bits + 1); bit < 8 * found.size(); ++bit) {
        EXPECT_EQ(number(found, bit, 1), 0U);
      }
      if (coefficients > 300) {  // the mean of v / t for uniform v
        EXPECT_NEAR(static_cast<double>(below),
                    0.5 * (1 - std::exp2(-1.0 * bits)) * static_cast<double>(coefficients),
                    3.0 * std::sqrt(static_cast<double>(coefficients)));
      }
    }
  }
}

// v - t with probability v / t: five deviations of the number of times.
TEST(PirRandomLifts, HaveTheMeanZero) {
  for (const unsigned bits : {8U, 16U, 24U}) {
    const random_lifts by(bits, test::seed_of(2));
    const double t = std::exp2(bits);
    for (const unsigned top : {1U, 32U, 64U, 128U, 200U, 255U}) {
      bytes plain(std::size_t{8192} * bits / 8);
      for (std::size_t j = bits / 8 - 1; j < plain.size(); j += bits / 8) plain[j] = std::byte(top);
      const double chance = top / 256.0, value = chance * t;
      double sum = 0;
      constexpr int plaintexts = 8;
      for (int i = 0; i < plaintexts; ++i) {
        const bytes found = lifted(by, plain, static_cast<std::uint64_t>(i));
        for (std::size_t j = 0; j < 8192; ++j) sum += static_cast<double>(integer(found, j, bits + 1));
      }
      const double count = 8192.0 * plaintexts;
      EXPECT_NEAR(sum / count, 0, 5 * std::sqrt(value * (t - value) / count)) << bits << ", " << top;
    }
  }
}

TEST(PirRandomLifts, FollowFromKeyPlaceAndDraw) {
  random_lifts by(10, test::seed_of(3));
  const bytes plain = test::random_bytes(2560, 4);
  const bytes first = lifted(by, plain, 5, 1);
  EXPECT_EQ(lifted(by, plain, 5, 1), first);
  EXPECT_EQ(lifted(random_lifts(10, test::seed_of(3)), plain, 5, 1), first);
  EXPECT_NE(lifted(random_lifts(10, test::seed_of(4)), plain, 5, 1), first);
  EXPECT_NE(lifted(random_lifts(10), plain, 5, 1), lifted(random_lifts(10), plain, 5, 1));
  EXPECT_NE(lifted(by, plain, 6, 1), first);
  EXPECT_NE(lifted(by, plain, 5, 2), first);
  EXPECT_NE(lifted(by, plain, 5 + (std::uint64_t{1} << 39), 1), first);
  const bytes other = lifted(by, plain, 6, 1);
  by.draw_anew(5);
  const bytes second = lifted(by, plain, 5, 1);
  EXPECT_NE(second, first);
  EXPECT_EQ(lifted(by, plain, 6, 1), other);
  by.draw_anew(5);
  EXPECT_NE(lifted(by, plain, 5, 1), first);
  EXPECT_NE(lifted(by, plain, 5, 1), second);
}

TEST(PirRandomLifts, RefusesRoomOfAnotherSize) {
  const random_lifts by(10);
  bytes plain(2560), out(by.bytes(2560) + 1);
  EXPECT_EQ(by.bytes(2560), 2816U);
  EXPECT_EQ(by.bytes(1), 2U);
  EXPECT_THROW(by.write(plain, 0, 0, out), invalid_argument);
  plain.resize(10250);
  out.resize(by.bytes(10250));
  EXPECT_THROW(by.write(plain, 0, 0, out), invalid_argument);
}

}  // namespace
}  // namespace halocline::pir
