// SPDX-License-Identifier: Apache-2.0
#include "seal/modulus.h"

#include <gtest/gtest.h>

#include "seal_objects.hpp"

namespace seal {
namespace {

std::vector<std::uint64_t> values(const std::vector<Modulus>& of) {
  std::vector<std::uint64_t> made;
  for (const Modulus& modulus : of) made.push_back(modulus.value());
  return made;
}

TEST(SealModulus, KnowsItsSizeAndReciprocal) {
  Modulus none;
  EXPECT_TRUE(none.is_zero());
  EXPECT_EQ(none.bit_count(), 0);
  EXPECT_FALSE(none.is_prime());
  EXPECT_THROW(static_cast<void>(none.reduce(3)), std::logic_error);

  Modulus three(3);
  EXPECT_EQ(three.bit_count(), 2);
  EXPECT_TRUE(three.is_prime());
  EXPECT_EQ(three.const_ratio(),
            (std::array<std::uint64_t, 3>{6148914691236517205U, 6148914691236517205U, 1}));
  EXPECT_EQ(three.reduce(14), 2U);

  Modulus two(2);
  EXPECT_EQ(two.const_ratio(), (std::array<std::uint64_t, 3>{0, std::uint64_t{1} << 63, 0}));

  const Modulus large = 0xF00000F00000F;
  EXPECT_EQ(large.bit_count(), 52);
  EXPECT_FALSE(large.is_prime());
  const unsigned __int128 ratio =
      (static_cast<unsigned __int128>(large.const_ratio()[1]) << 64) | large.const_ratio()[0];
  EXPECT_TRUE(ratio * large.value() + large.const_ratio()[2] == 0) << "2^128";
  EXPECT_LT(large.const_ratio()[2], large.value());
  EXPECT_TRUE(Modulus(2) < Modulus(3) && Modulus(3) >= 3 && three != two && three == 3);
}

TEST(SealModulus, RefusesWhatIsNoModulus) {
  EXPECT_THROW(Modulus(1), std::invalid_argument);
  EXPECT_THROW(Modulus(std::uint64_t{1} << 61), std::invalid_argument);
  EXPECT_EQ(Modulus((std::uint64_t{1} << 61) - 1).bit_count(), 61);
  Modulus kept(5);
  EXPECT_THROW(kept = 1, std::invalid_argument);
  EXPECT_EQ(kept.value(), 5U);
}

TEST(SealModulus, IsSavedAndLoaded) {
  for (const compr_mode_type how : test::compressions()) {
    const std::string file = test::saved(Modulus(0xFFFFFFFF00001), how);
    EXPECT_LE(static_cast<std::streamoff>(file.size()), Modulus(3).save_size(how));
    Modulus loaded;
    std::istringstream in(file);
    EXPECT_EQ(loaded.load(in), static_cast<std::streamoff>(file.size()));
    EXPECT_EQ(loaded, Modulus(0xFFFFFFFF00001));
  }
  EXPECT_EQ(test::saved(Modulus(3)).size(), 24U);
  std::string one = test::saved(Modulus(3));
  one[16] = 1;
  Modulus kept(7);
  EXPECT_THROW(kept.load(test::bytes_of(one), one.size()), std::logic_error);
  EXPECT_EQ(kept.value(), 7U);
}

TEST(SealCoeffModulus, HasTheBoundsOfTheStandard) {
  EXPECT_EQ(CoeffModulus::MaxBitCount(4096), 109);
  EXPECT_EQ(CoeffModulus::MaxBitCount(8192, sec_level_type::tc192), 152);
  EXPECT_EQ(CoeffModulus::MaxBitCount(32768, sec_level_type::tc256), 476);
  EXPECT_EQ(CoeffModulus::MaxBitCount(512), 0);
  EXPECT_EQ(CoeffModulus::MaxBitCount(65536), 0);
  EXPECT_EQ(CoeffModulus::MaxBitCount(512, sec_level_type::none), std::numeric_limits<int>::max());
}

TEST(SealCoeffModulus, DefaultsAreWithinTheBounds) {
  for (std::size_t n = 1024; n <= 32768; n *= 2) {
    for (const auto level : {sec_level_type::tc128, sec_level_type::tc192, sec_level_type::tc256}) {
      int bits = 0;
      for (const Modulus& prime : CoeffModulus::BFVDefault(n, level)) {
        EXPECT_TRUE(prime.is_prime());
        EXPECT_EQ(prime.value() % (2 * n), 1U);
        bits += prime.bit_count();
      }
      EXPECT_LE(bits, CoeffModulus::MaxBitCount(n, level)) << n;
      EXPECT_GE(bits + 11, CoeffModulus::MaxBitCount(n, level)) << n;
    }
  }
  EXPECT_EQ(values(CoeffModulus::BFVDefault(4096)),
            (std::vector<std::uint64_t>{0xffffee001, 0xffffc4001, 0x1ffffe0001}));
  EXPECT_THROW(static_cast<void>(CoeffModulus::BFVDefault(512)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(CoeffModulus::BFVDefault(1024, sec_level_type::none)),
               std::invalid_argument);
}

TEST(SealCoeffModulus, CreatesThePrimesThatSealCreates) {
  // As seal-python 4.4.0 returns them.
  EXPECT_EQ(values(CoeffModulus::Create(2, {30, 30, 20}))[0], 1073741741U);
  EXPECT_EQ(values(PlainModulus::Batching(8192, {20, 20, 30})),
            (std::vector<std::uint64_t>{786433, 1032193, 1073692673}));
  EXPECT_EQ(PlainModulus::Batching(8192, 20).value(), 1032193U);
  EXPECT_EQ(values(CoeffModulus::Create(4096, {30, 40, 30, 40})),
            (std::vector<std::uint64_t>{1073668097, 1099511390209, 1073692673, 1099511480321}));
  EXPECT_EQ(values(CoeffModulus::Create(1024, Modulus(1032192), {40, 40})),
            (std::vector<std::uint64_t>{1099480596481, 1099499175937}));
  EXPECT_TRUE(CoeffModulus::Create(4, {}).empty());
}

TEST(SealCoeffModulus, RefusesWhatItCannotCreate) {
  for (const std::size_t n : {0, 1, 3, 262144}) {
    EXPECT_THROW(static_cast<void>(CoeffModulus::Create(n, {30})), std::invalid_argument) << n;
  }
  for (const int bits : {-1, 0, 1, 61}) {
    EXPECT_THROW(static_cast<void>(CoeffModulus::Create(4, {bits})), std::invalid_argument) << bits;
  }
  EXPECT_THROW(static_cast<void>(CoeffModulus::Create(4, std::vector<int>(257, 60))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(CoeffModulus::Create(4, {3, 4})), std::logic_error);
  EXPECT_THROW(static_cast<void>(CoeffModulus::Create(1024, Modulus(0), {40})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(CoeffModulus::Create(1024, Modulus(65537), {30})), std::logic_error);
  EXPECT_THROW(static_cast<void>(CoeffModulus::Create(1024, Modulus((std::uint64_t{1} << 61) - 1), {60})),
               std::logic_error);
}

}  // namespace
}  // namespace seal
