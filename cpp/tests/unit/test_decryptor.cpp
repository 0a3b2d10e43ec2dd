// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/decryptor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using test::complex_vector;
using ::testing::HasSubstr;

class DecryptorOn : public ::testing::TestWithParam<const char*> {
 protected:
  ckks_rig rig{GetParam()};

  /// Number of limbs that inverse transforms wrote while `action` ran.
  template <typename ActionT>
  std::size_t inverse_limbs(const ActionT& action) {
    rig.ctx->runtime().start_trace();
    action();
    std::size_t bytes = 0;
    const memory::trace trace = rig.ctx->runtime().stop_trace();
    for (const memory::trace_event& event : trace.events) {
      if (trace.op(event) == "intt" && event.action == memory::trace_action::write) bytes += event.bytes;
    }
    return bytes / rig.parameters().limb_bytes();
  }
};

TEST_P(DecryptorOn, ValuesAreThoseOfTheDecodedPlaintextAtEveryLevelAndSlotCount) {
  for (unsigned level = 0; level <= rig.top(); ++level) {
    for (const std::uint32_t slots : {rig.slots(), rig.slots() / 16, 1U}) {
      const complex_vector values = rig.random_values(slots, level);
      const ciphertext value = rig.encrypt(values, level);
      const complex_vector direct = rig.decrypt(value);
      EXPECT_LT(measure_precision(direct, values).max_error, 0x1p-28) << level << " " << slots;
      EXPECT_EQ(direct, rig.encoder.decode(rig.decryptor.decrypt(value, rig.secret)))
          << level << " " << slots;
    }
  }
}

TEST_P(DecryptorOn, PlaintextHasTheLevelScaleAndSlotsOfTheCiphertext) {
  const ciphertext value = rig.encrypt(rig.random_values(8, 1), 2);
  const plaintext result = rig.decryptor.decrypt(value, rig.secret);
  EXPECT_EQ(result.level, 2U);
  EXPECT_EQ(result.scale, value.scale);
  EXPECT_EQ(result.slots, 8U);
  EXPECT_EQ(result.value.chain().primes, rig.parameters().level(2).q);
}

TEST_P(DecryptorOn, LooksAtFewPrimesUnlessTheMessageIsLarge) {
  const std::size_t all = rig.parameters().level(rig.top()).q.count;
  const complex_vector values = rig.random_values(rig.slots(), 1);
  const ciphertext small = rig.encrypt(values);
  EXPECT_LT(inverse_limbs([&] { (void)rig.decrypt(small); }), all);
  complex_vector large = values;
  for (auto& value : large) value *= 0x1p60;
  const ciphertext big = rig.encrypt(large);
  complex_vector result;
  EXPECT_GT(inverse_limbs([&] { result = rig.decrypt(big); }), all);  // first few, then all
  EXPECT_LT(measure_precision(result, large).max_error, 0x1p60 * 0x1p-45);
}

TEST_P(DecryptorOn, TakesThreeComponents) {
  const complex_vector a = rig.random_values(rig.slots(), 1);
  const complex_vector b = rig.random_values(rig.slots(), 2);
  rig.eval.set_mode(maintenance::manual);
  const ciphertext product = rig.eval.multiply(rig.encrypt(a), rig.encrypt(b));
  ASSERT_EQ(product.parts.size(), 3U);
  complex_vector expected(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) expected[k] = a[k] * b[k];
  EXPECT_LT(measure_precision(rig.decrypt(product), expected).max_error, 0x1p-26);
  EXPECT_EQ(rig.decrypt(product), rig.encoder.decode(rig.decryptor.decrypt(product, rig.secret)));
}

TEST_P(DecryptorOn, FloodingAddsNoiseOfTheWidthAskedFor) {
  const complex_vector values = rig.random_values(rig.slots(), 1);
  for (const unsigned level : {0U, rig.top()}) {
    const ciphertext value = rig.encrypt(values, level);
    const complex_vector clean = rig.decrypt(value);
    for (const double bits : {10.0, 15.5, 25.0, 45.0}) {
      const complex_vector noisy = rig.decryptor.decrypt_values(value, rig.secret, rig.encoder, bits);
      std::vector<double> parts;
      for (std::size_t k = 0; k < clean.size(); ++k) {
        parts.push_back(noisy[k].real() - clean[k].real());
        parts.push_back(noisy[k].imag() - clean[k].imag());
      }
      const double expected = std::exp2(bits) * std::sqrt(static_cast<double>(rig.slots())) / value.scale;
      EXPECT_NEAR(test::root_mean_square(parts) / expected, 1.0, 0.12) << level << " " << bits;
      EXPECT_NE(noisy, rig.decryptor.decrypt_values(value, rig.secret, rig.encoder, bits));
    }
  }
}

TEST_P(DecryptorOn, RefusesFloodingThatItCannotDo) {
  const ciphertext value = rig.encrypt(rig.random_values(rig.slots(), 1), 0);
  for (const double bits : {-1.0, 51.0, 55.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(test::message_of<invalid_argument>(
                    [&] { (void)rig.decryptor.decrypt_values(value, rig.secret, rig.encoder, bits); }),
                HasSubstr("flooding noise of"))
        << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(decryptor, DecryptorOn, ::testing::Values("test-n11-d8", "test-n10-d3-w64"));

TEST(Decryptor, WrongSecretGivesNoise) {
  ckks_rig rig("test-n10-d3");
  const complex_vector values = rig.random_values(rig.slots(), 1);
  const secret_key other = rig.generator.make_secret_key();
  ciphertext encrypted = rig.encrypt(values);
  EXPECT_THROW((void)rig.decryptor.decrypt_values(encrypted, other, rig.encoder), key_mismatch);
  encrypted.key = {};  // as from a file of version 1
  const complex_vector result = rig.decryptor.decrypt_values(encrypted, other, rig.encoder);
  EXPECT_GT(measure_precision(result, values).mean_error, 0x1p20);
}

TEST(Decryptor, RefusesObjectsOfOtherContexts) {
  ckks_rig rig("test-n10-d3");
  ckks_rig other("test-n10-d3");
  const ciphertext own = rig.encrypt(rig.random_values(4, 1));
  const ciphertext foreign = other.encrypt(other.random_values(4, 1));
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)rig.decrypt(foreign); }),
              HasSubstr("decrypt: the ciphertext belongs to another engine or client"));
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)rig.decryptor.decrypt(own, other.secret); }),
              HasSubstr("decrypt: the secret key belongs to another context"));
}

TEST(Decryptor, RunsOnTheGhost) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"), "ghost");
  ring::random_source random(backend::seed_bytes{3});
  key_generator generator(*ctx, random);
  encoder code(*ctx);
  encryptor encrypt(*ctx, random);
  decryptor decrypt(*ctx, random);
  const secret_key secret = generator.make_secret_key();
  const ciphertext value = encrypt.encrypt(code.encode(std::vector<double>(64, 0.5), 2, 0x1p40), secret);
  EXPECT_EQ(decrypt.decrypt_values(value, secret, code, 20.0), complex_vector(64));
  EXPECT_EQ(decrypt.decrypt(value, secret).level, 2U);
}

}  // namespace
}  // namespace halocline::ckks
