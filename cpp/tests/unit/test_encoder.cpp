// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/precision.hpp"
#include "halocline/core/error.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using complex_vector = std::vector<std::complex<double>>;

complex_vector random_values(std::size_t count, double magnitude = 1.0) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-magnitude, magnitude);
  complex_vector values(count);
  for (auto& value : values) value = {uniform(random), uniform(random)};
  return values;
}

/// Coefficient j of the message polynomial: (1/n) sum_k Re(conj(x_k)^j v_k), x_k = zeta^(g^k); zeta has order
/// 4n.
std::vector<double> naive_coefficients(const complex_vector& values, unsigned generator) {
  const std::size_t order = 4 * values.size();
  std::vector<double> result(2 * values.size());
  for (std::size_t j = 0; j < result.size(); ++j) {
    long double sum = 0;
    std::size_t exponent = 1;
    for (const auto& value : values) {
      const long double angle = 2 * std::numbers::pi_v<long double> *
                                static_cast<long double>(j * exponent % order) /
                                static_cast<long double>(order);
      sum += value.real() * std::cos(angle) + value.imag() * std::sin(angle);
      exponent = exponent * generator % order;
    }
    result[j] = static_cast<double>(sum / static_cast<long double>(values.size()));
  }
  return result;
}

TEST(Encoder, EqualsTheNaiveInverseEmbeddingForAllSlotCountsAndBothGenerators) {
  for (const unsigned generator : {3U, 5U}) {
    const auto ctx = test::make_test_context(test::with_generator("test-n10-d3", generator));
    encoder encode(*ctx);
    for (std::uint32_t slots = 1; slots <= 512; slots *= 2) {
      const complex_vector values = random_values(slots);
      const plaintext encoded = encode.encode(values, 1, 0x1p40);
      EXPECT_EQ(encoded.slots, slots);
      EXPECT_EQ(encoded.level, 1U);
      EXPECT_EQ(encoded.scale, 0x1p40);
      const std::vector<double> got = test::integer_coefficients(*ctx, encoded.value.chain());
      const std::vector<double> expected = naive_coefficients(values, generator);
      const std::size_t stride = 512 / slots;
      for (std::size_t j = 0; j < got.size(); ++j) {
        const double want = j % stride == 0 ? std::nearbyint(0x1p40 * expected[j / stride]) : 0.0;
        ASSERT_NEAR(got[j], want, 1.0)
            << "generator " << generator << " slots " << slots << " coefficient " << j;
      }
    }
  }
}

class EncoderOn : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<context> ctx = test::make_test_context(params::preset(GetParam()));
  encoder encode{*ctx};
  unsigned top = ctx->parameters().max_level();
  std::uint32_t slots = static_cast<std::uint32_t>(ctx->parameters().slots());
};

TEST_P(EncoderOn, DecodesWhatItEncodedAtEveryLevelAndSlotCount) {
  for (unsigned level = 0; level <= top; ++level) {
    const double scale = ctx->parameters().level(level).scale;
    for (std::uint32_t used = 1; used <= slots; used *= 4) {
      const complex_vector values = random_values(used);
      const complex_vector back = encode.decode(encode.encode(values, level, scale));
      ASSERT_EQ(back.size(), used);
      // Rounding errors of 2n coefficients, 1/sqrt(12) each, add up to sqrt(n / 12) in a part of a slot.
      const double bound = 6 * std::sqrt(used / 12.0 + 1) / scale;
      ASSERT_LT(measure_precision(back, values).max_error, bound) << "level " << level << " slots " << used;
    }
  }
}

TEST_P(EncoderOn, TakesRealValuesAndPadsWithZeros) {
  const std::vector<double> reals{1.0, -2.5, 3.0};
  const plaintext encoded = encode.encode(reals, top, 0x1p40);
  EXPECT_EQ(encoded.slots, 4U);
  EXPECT_LT(measure_precision(encode.decode(encoded), complex_vector{1.0, -2.5, 3.0, 0.0}).max_error,
            0x1p-36);
  const plaintext wide = encode.encode(reals, top, 0x1p40, 16);
  complex_vector expected(16);
  std::copy(reals.begin(), reals.end(), expected.begin());
  EXPECT_LT(measure_precision(encode.decode(wide), expected).max_error, 0x1p-36);
  EXPECT_EQ(encode.decode(encode.encode(std::vector<double>{}, top, 0x1p40, 8)), complex_vector(8));
}

TEST_P(EncoderOn, AutomorphismOfTheGeneratorRotatesSlotsToTheLeft) {
  for (const std::uint32_t used : {slots, slots / 8}) {
    const complex_vector values = random_values(used);
    const plaintext encoded = encode.encode(values, top, 0x1p40);
    for (const std::int64_t step : {1, 3, -2}) {
      plaintext rotated = encode.encode(values, top, 0x1p40);
      const backend::automorphism_job job{rotated.value.chain(), encoded.value.chain(),
                                          &ctx->ring().permutation(ctx->parameters().galois_element(step))};
      ctx->device().automorphism(ctx->tables(), {&job, 1});
      complex_vector expected(used);
      for (std::uint32_t k = 0; k < used; ++k)
        expected[k] = values[(k + used + static_cast<std::uint32_t>(step)) % used];
      EXPECT_LT(measure_precision(encode.decode(rotated), expected).max_error, 0x1p-32)
          << used << " " << step;
    }
    plaintext conjugated = encode.encode(values, top, 0x1p40);
    const backend::automorphism_job job{conjugated.value.chain(), encoded.value.chain(),
                                        &ctx->ring().permutation(ctx->parameters().conjugation_element())};
    ctx->device().automorphism(ctx->tables(), {&job, 1});
    complex_vector expected = values;
    for (auto& value : expected) value = std::conj(value);
    EXPECT_LT(measure_precision(encode.decode(conjugated), expected).max_error, 0x1p-32);
  }
}

TEST_P(EncoderOn, ProductOfPolynomialsMultipliesSlots) {
  const complex_vector a = random_values(slots);
  const complex_vector b(a.rbegin(), a.rend());
  const plaintext factor = encode.encode(b, top, 0x1p40);
  plaintext product = encode.encode(a, top, 0x1p40);
  const backend::binary_job job{product.value.chain(), product.value.chain(), factor.value.chain()};
  ctx->device().multiply(ctx->tables(), {&job, 1});
  product.scale = 0x1p80;
  complex_vector expected(slots);
  for (std::uint32_t k = 0; k < slots; ++k) expected[k] = a[k] * b[k];
  EXPECT_LT(measure_precision(encode.decode(product), expected).max_error, 0x1p-30);
}

TEST_P(EncoderOn, KeepsLargeCoefficientsExactly) {
  const complex_vector values = random_values(slots);
  // Beyond 62 bits coefficients have two words; far above the scale, decoding needs more primes than usual.
  for (const auto& [magnitude, scale] :
       {std::pair{1.0, 0x1p100}, std::pair{0x1p62, 0x1p40}, std::pair{0x1p30, 1.0}}) {
    complex_vector large = values;
    for (auto& value : large) value *= magnitude;
    const complex_vector back = encode.decode(encode.encode(large, top, scale));
    const double bound = magnitude * 0x1p-46 + 64 / scale;
    EXPECT_LT(measure_precision(back, large).max_error, bound) << magnitude << " " << scale;
  }
}

TEST_P(EncoderOn, CompactFormExpandsToTheSameResidues) {
  const complex_vector values = random_values(slots / 2);
  const compact_plaintext compact = encode.encode_compact(values, 0x1p40);
  EXPECT_EQ(compact.bytes(), std::size_t{compact.slots} * 2 * 8);
  EXPECT_EQ(compact.coefficients.cls(), memory::object_class::plaintext);
  for (unsigned level = 0; level <= top; ++level) {
    const plaintext expanded = encode.expand(compact, level);
    const plaintext direct = encode.encode(values, level, 0x1p40);
    EXPECT_EQ(test::words_of(*ctx, expanded.value.chain()), test::words_of(*ctx, direct.value.chain()));
    EXPECT_EQ(expanded.level, level);
    EXPECT_EQ(expanded.slots, direct.slots);
    EXPECT_EQ(expanded.scale, direct.scale);
  }
}

TEST_P(EncoderOn, RefusesWhatDoesNotFitAndSaysWhatWould) {
  const complex_vector large{0x1p20};
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)encode.encode(large, 0, 0x1p40); }),
              AllOf(HasSubstr("does not fit"), HasSubstr("a coefficient of 2^60"),
                    HasSubstr("magnitude up to 524"), HasSubstr("higher level")));
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)encode.encode(large, top, 0x1p107); }),
              HasSubstr("the limit is 2^126"));
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)encode.encode_compact(large, 0x1p43); }),
              HasSubstr("the limit is 2^62"));
  const compact_plaintext compact = encode.encode_compact(large, 0x1p40);
  EXPECT_NO_THROW((void)encode.expand(compact, top));
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)encode.expand(compact, 0); }),
              HasSubstr("does not fit"));
  // What counts are the coefficients: one large slot among many small ones is fine.
  complex_vector peak(slots);
  peak[3] = 0x1p20;
  EXPECT_LT(measure_precision(encode.decode(encode.encode(peak, 0, 0x1p40)), peak).max_error, 0x1p-30);
}

INSTANTIATE_TEST_SUITE_P(encoder, EncoderOn, ::testing::Values("test-n11-d8", "test-n10-d3-w64"));

TEST(Encoder, WorksWithGeneratorThree) {
  const auto ctx = test::make_test_context(test::with_generator("test-n10-d3", 3));
  encoder encode(*ctx);
  const complex_vector values = random_values(512);
  const plaintext encoded = encode.encode(values, 2, 0x1p40);
  plaintext rotated = encode.encode(values, 2, 0x1p40);
  const backend::automorphism_job job{rotated.value.chain(), encoded.value.chain(),
                                      &ctx->ring().permutation(3)};
  ctx->device().automorphism(ctx->tables(), {&job, 1});
  complex_vector expected(values.begin() + 1, values.end());
  expected.push_back(values[0]);
  EXPECT_LT(measure_precision(encode.decode(rotated), expected).max_error, 0x1p-32);
}

TEST(Encoder, RefusesBadValuesSlotsAndScales) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"));
  encoder encode(*ctx);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto attempt = [&](const complex_vector& values, double scale = 0x1p40,
                           std::optional<std::uint32_t> slots = {}, unsigned level = 1) {
    return test::message_of<invalid_argument>([&] { (void)encode.encode(values, level, scale, slots); });
  };
  complex_vector values(20, 1.0);
  values[17] = {0.0, nan};
  EXPECT_THAT(attempt(values), AllOf(HasSubstr("value 17"), HasSubstr("finite")));
  values[17] = {-infinity, 0.0};
  EXPECT_THAT(attempt(values), AllOf(HasSubstr("value 17"), HasSubstr("finite")));
  EXPECT_THAT(attempt(complex_vector(4, 1e308)), HasSubstr("too large"));
  EXPECT_THAT(attempt(complex_vector(513)), AllOf(HasSubstr("513 slots"), HasSubstr("have 512")));
  EXPECT_THAT(attempt(complex_vector(4), 0x1p40, 1024), HasSubstr("1024 slots"));
  EXPECT_THAT(attempt(complex_vector(4), 0x1p40, 12), HasSubstr("expected a power of two"));
  EXPECT_THAT(attempt(complex_vector(4), 0x1p40, 2), HasSubstr("4 values for 2 slots"));
  EXPECT_THAT(attempt(complex_vector(4), 0x1p40, 0), HasSubstr("0 slots"));
  EXPECT_THAT(attempt({}), HasSubstr("no values"));
  for (const double scale : {0.0, -1.0, nan, infinity}) {
    EXPECT_THAT(attempt(complex_vector(4), scale), HasSubstr("expected a positive number"));
  }
  EXPECT_NE(attempt(complex_vector(4), 0x1p40, {}, 4), "no exception");  // there is no level 4
}

TEST(Encoder, GhostRunAllocatesAndStepsLikeARealOne) {
  std::vector<std::vector<std::string>> runs;
  for (const char* device : {"cpu", "ghost"}) {
    const auto ctx = test::make_test_context(params::preset("test-n10-d3"), device);
    encoder encode(*ctx);
    ctx->runtime().start_trace();
    for (const double scale : {0x1p40, 0x1p70}) {
      const plaintext encoded = encode.encode(random_values(64), 3, scale);
      EXPECT_EQ(encode.decode(encoded).size(), 64U);
    }
    (void)encode.expand(encode.encode_compact(random_values(512), 0x1p40), 0);
    EXPECT_THROW((void)encode.encode(complex_vector{0x1p30}, 0, 0x1p40), invalid_argument);
    std::vector<std::string> rows;
    const memory::trace trace = ctx->runtime().stop_trace();
    for (const memory::trace_event& event : trace.events) {
      rows.push_back(trace.op(event) + " " + trace.tag(event) + " " + std::to_string(event.bytes) + " " +
                     std::string(memory::to_string(event.action)));
    }
    runs.push_back(rows);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace halocline::ckks
