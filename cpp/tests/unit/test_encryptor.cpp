// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/encryptor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using ::testing::HasSubstr;

/// Coefficients of c_0 + c_1 s - m.
std::vector<double> noise_of(ckks_rig& rig, const ciphertext& value, const plaintext& message) {
  plaintext sum = rig.decryptor.decrypt(value, rig.secret);
  const backend::binary_job job{sum.value.chain(), sum.value.chain(), message.value.chain()};
  rig.ctx->device().sub(rig.ctx->tables(), {&job, 1});
  return test::integer_coefficients(*rig.ctx, sum.value.chain());
}

plaintext sample_message(ckks_rig& rig, unsigned level) {
  return rig.encoder.encode(rig.random_values(rig.slots(), level), level,
                            rig.parameters().level(level).scale);
}

class EncryptorOn : public ::testing::TestWithParam<const char*> {
 protected:
  ckks_rig rig{GetParam()};
  public_key key = rig.generator.make_public_key(rig.secret);
};

TEST_P(EncryptorOn, SymmetricNoiseIsTheErrorDistributionAtEveryLevel) {
  for (unsigned level = 0; level <= rig.top(); ++level) {
    const plaintext message = sample_message(rig, level);
    const ciphertext value = rig.encryptor.encrypt(message, rig.secret);
    EXPECT_NO_THROW(check(*rig.ctx, value, "test"));
    EXPECT_EQ(value.level, level);
    EXPECT_EQ(value.scale, message.scale);
    EXPECT_EQ(value.slots, message.slots);
    const std::vector<double> noise = noise_of(rig, value, message);
    EXPECT_NEAR(test::root_mean_square(noise), rig.parameters().error_stddev(), 0.4) << level;
    EXPECT_LT(test::largest_of(noise), 30) << level;
  }
}

TEST_P(EncryptorOn, SecondComponentComesFromTheSeed) {
  const ciphertext value = rig.encryptor.encrypt(sample_message(rig, 2), rig.secret);
  ASSERT_TRUE(value.seed.has_value());
  const ring::poly again =
      ring::make_poly(rig.ctx->ring(), value.parts[1].chain().primes, memory::object_class::scratch, "test");
  const backend::uniform_job job{again.chain(), *value.seed};
  rig.ctx->device().sample_uniform(rig.ctx->tables(), {&job, 1});
  EXPECT_EQ(test::words_of(*rig.ctx, again.chain()), test::words_of(*rig.ctx, value.parts[1].chain()));
}

TEST_P(EncryptorOn, PublicKeyNoiseFollowsItsFormulaAtEveryLevel) {
  // e_0 + u e + e_1 s: variance sigma^2 (1 + 2N/3 + 2N/3) with ternary u and s.
  const double n = static_cast<double>(rig.parameters().n());
  const double expected = rig.parameters().error_stddev() * std::sqrt(1 + 4 * n / 3);
  for (unsigned level = 0; level <= rig.top(); ++level) {
    const plaintext message = sample_message(rig, level);
    const ciphertext value = rig.encryptor.encrypt(message, key);
    EXPECT_FALSE(value.seed.has_value());
    EXPECT_EQ(value.level, level);
    EXPECT_EQ(value.scale, message.scale);
    const double noise = test::root_mean_square(noise_of(rig, value, message));
    EXPECT_NEAR(noise / expected, 1.0, 0.15) << level;
  }
}

TEST_P(EncryptorOn, TwoEncryptionsOfAMessageDiffer) {
  const plaintext message = sample_message(rig, 1);
  for (const bool symmetric : {true, false}) {
    const auto make = [&] {
      return symmetric ? rig.encryptor.encrypt(message, rig.secret) : rig.encryptor.encrypt(message, key);
    };
    const ciphertext a = make();
    const ciphertext b = make();
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NE(test::words_of(*rig.ctx, a.parts[i].chain()), test::words_of(*rig.ctx, b.parts[i].chain()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(encryptor, EncryptorOn, ::testing::Values("test-n10-d3-w64", "test-n11-d8"));

TEST(Encryptor, SameSeedGivesTheSameCiphertext) {
  std::vector<std::vector<std::uint64_t>> runs;
  for (int run = 0; run < 2; ++run) {
    ckks_rig rig("test-n10-d3");
    const plaintext message = sample_message(rig, 2);
    runs.push_back(test::words_of(*rig.ctx, rig.encryptor.encrypt(message, rig.secret).parts[0].chain()));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(Encryptor, ReachesItsPrecisionAtFullSize) {
  // A slot part sums N/2 pairs of coefficients with weights cos and sin, so its error has variance N/2 times
  // that of a coefficient (rounding adds 1/12 to it). The larger of two normal parts has mean 2 / sqrt(pi)
  // standard deviations.
  ckks_rig rig("n15-d14");
  const auto values = rig.random_values(rig.slots(), 1);
  const double scale = rig.parameters().level(rig.top()).scale;
  const plaintext message = rig.encoder.encode(values, rig.top(), scale);
  const double n = static_cast<double>(rig.parameters().n());
  const auto predicted = [&](double variance) {
    return -std::log2(2 * std::numbers::inv_sqrtpi * std::sqrt(n / 2 * (variance + 1.0 / 12)) / scale);
  };
  const double error = rig.parameters().error_stddev() * rig.parameters().error_stddev();
  const precision_stats encoded = measure_precision(rig.encoder.decode(message), values);
  EXPECT_NEAR(encoded.mean_bits, predicted(0.0), 0.1);
  const precision_stats symmetric = rig.precision(rig.encryptor.encrypt(message, rig.secret), values);
  EXPECT_NEAR(symmetric.mean_bits, predicted(error), 0.1);
  EXPECT_GE(symmetric.mean_bits, 30.0);
  EXPECT_LE(symmetric.mean_bits - symmetric.worst_bits, 3.0);
  const public_key key = rig.generator.make_public_key(rig.secret);
  const precision_stats open = rig.precision(rig.encryptor.encrypt(message, key), values);
  EXPECT_NEAR(open.mean_bits, predicted(error * (1 + 4 * n / 3)), 0.2);
  EXPECT_GE(open.mean_bits, 22.0);
  EXPECT_LE(open.mean_bits - open.worst_bits, 3.0);
}

TEST(Encryptor, RefusesObjectsOfOtherContexts) {
  ckks_rig rig("test-n10-d3");
  ckks_rig other("test-n10-d3");
  const plaintext message = sample_message(rig, 1);
  const plaintext foreign = sample_message(other, 1);
  const public_key key = rig.generator.make_public_key(rig.secret);
  const auto problem = [&](const plaintext& p, const auto& k) {
    return test::message_of<invalid_argument>([&] { (void)rig.encryptor.encrypt(p, k); });
  };
  EXPECT_THAT(problem(foreign, rig.secret), HasSubstr("plaintext belongs to another engine or client"));
  EXPECT_THAT(problem(foreign, key), HasSubstr("plaintext belongs to another engine or client"));
  EXPECT_THAT(problem(plaintext{}, key), HasSubstr("plaintext is empty"));
  EXPECT_THAT(problem(message, other.secret), HasSubstr("secret key belongs to another context"));
  EXPECT_THAT(problem(message, other.generator.make_public_key(other.secret)),
              HasSubstr("public key belongs to another engine or client"));
  EXPECT_THAT(problem(message, public_key{}), HasSubstr("public key is empty"));
  plaintext wrong_level = sample_message(rig, 1);
  wrong_level.level = 2;
  EXPECT_THAT(problem(wrong_level, rig.secret), HasSubstr("level 2 has"));
}

TEST(Encryptor, GhostMakesTheSameBuffersInTheSameOrder) {
  std::vector<std::vector<std::string>> runs;
  for (const char* device : {"cpu", "ghost"}) {
    const auto ctx = test::make_test_context(params::preset("test-n10-d3"), device);
    ring::random_source random(backend::seed_bytes{3});
    key_generator generator(*ctx, random);
    encoder encode(*ctx);
    encryptor encrypt(*ctx, random);
    const secret_key secret = generator.make_secret_key();
    const public_key key = generator.make_public_key(secret);
    const plaintext message = encode.encode(std::vector<double>(512, 0.5), 2, 0x1p40);
    ctx->runtime().start_trace();
    const ciphertext a = encrypt.encrypt(message, secret);
    const ciphertext b = encrypt.encrypt(message, key);
    std::vector<std::string> rows;
    const memory::trace trace = ctx->runtime().stop_trace();
    for (const memory::trace_event& event : trace.events) {
      rows.push_back(trace.op(event) + " " + trace.tag(event) + " " + std::to_string(event.bytes));
    }
    runs.push_back(rows);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace halocline::ckks
