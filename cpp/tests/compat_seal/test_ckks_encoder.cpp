// SPDX-License-Identifier: Apache-2.0
#include "seal/ckks.h"

#include <numbers>

#include "seal_rig.hpp"

namespace seal::test {
namespace {

TEST(CompatEncoder, VectorsOfAllRingsComeBack) {
  for (const std::size_t n : {2UL, 4UL, 8UL, 64UL, 128UL, 2048UL}) {
    rig r(n, {40, 40, 40, 40});
    for (const double scale : {0x1p16, 0x1p30, 0x1p70, 0x1p100}) {
      const slots message = r.values();
      slots back;
      r.encoder.decode(r.encode(message, scale), back);
      EXPECT_LT(distance(message, back), 1e-12 + static_cast<double>(n) / scale) << n << ", scale " << scale;
    }
  }
}

// Slots are the values at powers 3^k of a primitive root: the definition, not another implementation.
TEST(CompatEncoder, SlotsAreValuesAtPowersOfThree) {
  rig r(32, {40, 40});
  const std::size_t n = 32;
  const double scale = 0x1p20;
  const slots message = r.values();
  const Plaintext plain = r.encode(message, scale);
  std::vector<std::uint64_t> words = words_of(plain);
  // A product with the plaintext of X^0 is the plaintext itself, so its coefficients come from decoding
  // unit vectors: here from the definition of the inverse embedding.
  std::uint64_t element = 1;
  slots direct;
  std::vector<double> coefficients(n);
  for (std::size_t j = 0; j < n; ++j) {
    std::uint64_t power = 1;
    for (std::size_t k = 0; k < n / 2; ++k, power = power * 3 % (2 * n)) {
      const double angle =
          -std::numbers::pi * static_cast<double>(power * j % (2 * n)) / static_cast<double>(n);
      coefficients[j] += 2.0 / static_cast<double>(n) * (message[k] * std::polar(1.0, angle)).real();
    }
    coefficients[j] = std::round(coefficients[j] * scale) / scale;
  }
  for (std::size_t k = 0; k < n / 2; ++k, element = element * 3 % (2 * n)) {
    std::complex<double> value = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double angle =
          std::numbers::pi * static_cast<double>(element * j % (2 * n)) / static_cast<double>(n);
      value += coefficients[j] * std::polar(1.0, angle);
    }
    direct.push_back(value);
  }
  slots back;
  r.encoder.decode(plain, back);
  EXPECT_LT(distance(direct, back), 1e-12);
}

TEST(CompatEncoder, SingleNumbersFillAllSlots) {
  rig r;
  Plaintext plain;
  slots back;
  for (const double value : {0.0, 1.5, -3.25, 1234.5}) {
    r.encoder.encode(value, 0x1p40, plain);
    r.encoder.decode(plain, back);
    EXPECT_LT(distance(back, slots(32, value)), 1e-9) << value;
    EXPECT_EQ(plain.parms_id(), r.context.first_parms_id());
    EXPECT_EQ(plain.scale(), 0x1p40);
  }
  r.encoder.encode(std::complex<double>(2.0, -1.0), 0x1p40, plain);
  r.encoder.decode(plain, back);
  EXPECT_LT(distance(back, slots(32, {2.0, -1.0})), 1e-9);
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{-7}, INT64_MIN, INT64_MAX}) {
    r.encoder.encode(value, plain);
    EXPECT_EQ(plain.scale(), 1.0);
    std::vector<double> real;
    r.encoder.decode(plain, real);
    EXPECT_DOUBLE_EQ(real[5], static_cast<double>(value));
  }
}

TEST(CompatEncoder, LevelsAndShortVectors) {
  rig r;
  const auto last = r.context.last_parms_id();
  Plaintext plain;
  r.encoder.encode(std::vector<double>{1.0, 2.0}, last, 0x1p20, plain);
  EXPECT_EQ(plain.parms_id(), last);
  EXPECT_EQ(plain.coeff_count(), 64U);
  std::vector<double> real;
  r.encoder.decode(plain, real);
  ASSERT_EQ(real.size(), 32U);
  EXPECT_NEAR(real[1], 2.0, 1e-3);
  EXPECT_NEAR(real[2], 0.0, 1e-3);
  r.encoder.encode(std::vector<double>{}, 0x1p20, plain);
  EXPECT_TRUE(plain.is_zero());
  const std::vector<double> part{3.0, 4.0, 5.0};
  r.encoder.encode(std::span<const double>(part).subspan(1), 0x1p20, plain);
  std::vector<std::complex<double>> into(32);
  r.encoder.decode(plain, std::span(into));
  EXPECT_NEAR(into[1].real(), 5.0, 1e-3);
  EXPECT_THROW(r.encoder.decode(plain, std::span(into).first(5)), std::invalid_argument);
}

TEST(CompatEncoder, RefusesWhatDoesNotFit) {
  rig r(64, {60, 40, 40, 60});  // 140 bits at the first level
  Plaintext plain;
  const std::vector<double> one{1.0};
  using bad = std::invalid_argument;
  for (const double scale : {0.0, -1.0, 1e-310, 0x1p139, 0x1p200, std::nan("")}) {
    EXPECT_THROW(r.encoder.encode(one, scale, plain), bad) << scale;
    EXPECT_THROW(r.encoder.encode(1.0, scale, plain), bad) << scale;
  }
  r.encoder.encode(std::vector<double>{1e-20}, 0x1p138, plain);
  EXPECT_THROW(r.encoder.encode(std::vector<double>(33, 1.0), 0x1p30, plain), bad);
  EXPECT_THROW(r.encoder.encode(one, parms_id_zero, 0x1p30, plain), bad);
  EXPECT_THROW(r.encoder.encode(one, 0x1p30, plain, MemoryPoolHandle()), bad);
  EXPECT_THROW(r.encoder.encode(std::vector<double>{std::nan("")}, 0x1p30, plain), bad);
  EXPECT_THROW(r.encoder.encode(std::numeric_limits<double>::infinity(), 0x1p30, plain), bad);
  // As SEAL: 98 bits and the scale of 40 are just small enough for a vector, 97 for a number.
  r.encoder.encode(std::vector<double>(32, 0x1p98), 0x1p40, plain);
  EXPECT_THROW(r.encoder.encode(std::vector<double>(32, 0x1p99), 0x1p40, plain), bad);
  r.encoder.encode(0x1p97, 0x1p40, plain);
  EXPECT_THROW(r.encoder.encode(0x1p98, 0x1p40, plain), bad);
  EXPECT_THROW(CKKSEncoder{bfv_context()}, bad);
  EXPECT_THROW(r.encoder.decode(Plaintext("1x^1"), *std::make_unique<slots>()), bad);
  r.encoder.encode(one, 0x1p30, plain);
  plain.scale() = 0x1p140;
  slots back;
  EXPECT_THROW(r.encoder.decode(plain, back), bad);
}

}  // namespace
}  // namespace seal::test
