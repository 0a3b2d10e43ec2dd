// SPDX-License-Identifier: Apache-2.0
// Decryption inverts both kinds of encryption, within the noise that the formulas predict, for random shapes.
#include "halocline/ckks/encryptor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "halocline/ckks/context.hpp"
#include "support/ckks_fixture.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using test::complex_vector;

class EncryptionLaw : public ::testing::TestWithParam<const char*> {
 protected:
  ckks_rig rig{GetParam()};
  public_key key = rig.generator.make_public_key(rig.secret);
  double variance = rig.parameters().error_stddev() * rig.parameters().error_stddev() + 1.0 / 12;

  /// Six standard deviations of a slot part after symmetric encryption.
  [[nodiscard]] double closed_bound(std::uint32_t slots, double scale) const {
    return 6 * std::sqrt(slots * variance) / scale;
  }
  /// Twelve after public-key encryption: slots of the products u e and e_1 s of Gaussian polynomials have the
  /// tails of a Laplace distribution, exp(-12 sqrt(2)) = 4e-8.
  [[nodiscard]] double open_bound(std::uint32_t slots, double scale) const {
    return 12 * std::sqrt(slots * variance * (1 + 4.0 / 3 * static_cast<double>(rig.parameters().n()))) /
           scale;
  }
};

TEST_P(EncryptionLaw, DecryptionInvertsEncryptionWithinThePredictedNoise) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto level = static_cast<unsigned>(random() % (rig.top() + 1));
    const std::uint32_t slots = 1U << (random() % rig.parameters().log_n());
    const double scale = std::exp2(std::uniform_real_distribution<double>(25.0, 55.0)(random));
    const complex_vector values = rig.random_values(slots, seed);
    SCOPED_TRACE(rig.describe() + " case " + std::to_string(seed) + " level " + std::to_string(level) +
                 " slots " + std::to_string(slots));
    const plaintext message = rig.encoder.encode(values, level, scale);
    const complex_vector closed = rig.decrypt(rig.encryptor.encrypt(message, rig.secret));
    EXPECT_LT(measure_precision(closed, values).max_error, closed_bound(slots, scale));
    const complex_vector open = rig.decrypt(rig.encryptor.encrypt(message, key));
    EXPECT_LT(measure_precision(open, values).max_error, open_bound(slots, scale));
  }
}

TEST_P(EncryptionLaw, SumOfCiphertextsDecryptsToTheSum) {
  for (std::uint32_t seed = 100; seed < 130; ++seed) {
    const complex_vector a = rig.random_values(rig.slots(), seed);
    const complex_vector b = rig.random_values(rig.slots(), seed + 1000);
    const unsigned level = seed % (rig.top() + 1);
    const double scale = rig.parameters().level(level).scale;
    const ciphertext sum = rig.encrypt(a, level);
    const ciphertext other = rig.encryptor.encrypt(rig.encoder.encode(b, level, scale), key);
    for (std::size_t i = 0; i < 2; ++i) {
      const backend::limb_view view = sum.parts[i].chain();
      const backend::binary_job job{view, view, other.parts[i].chain()};
      rig.ctx->device().add(rig.ctx->tables(), {&job, 1});
    }
    complex_vector expected(a.size());
    for (std::size_t k = 0; k < a.size(); ++k) expected[k] = a[k] + b[k];
    EXPECT_LT(measure_precision(rig.decrypt(sum), expected).max_error,
              closed_bound(rig.slots(), scale) + open_bound(rig.slots(), scale))
        << rig.describe() << " case " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(encryptor, EncryptionLaw,
                         ::testing::Values("test-n10-d3", "test-n10-d3-w64", "test-n11-d8"));

}  // namespace
}  // namespace halocline::ckks
