// SPDX-License-Identifier: Apache-2.0
// What two processes of one client make must share no randomness.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"
#include "support/forked.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using test::value_of_child;

constexpr std::size_t degree = 1024;
using limb = std::array<std::uint64_t, degree>;

/// The public part of an encryption: both components modulo the first prime of its level.
struct view {
  limb b;
  limb a;
};

class ClientFork : public ::testing::Test {
 protected:
  client alice{params::preset("test-n10-d3"), {.threads = 2}};

  [[nodiscard]] limb first_limb(const ring::poly& p) {
    const std::vector<std::uint64_t> words = test::words_of(alice.context(), p.chain());
    limb result;
    std::copy_n(words.begin(), degree, result.begin());
    return result;
  }
  [[nodiscard]] std::uint64_t prime_of(const ring::poly& p) {
    return alice.parameters().primes()[p.chain().primes.first];
  }
  [[nodiscard]] plaintext encoded(double value) {
    const std::vector<std::complex<double>> values(alice.parameters().slots(), value);
    const unsigned level = alice.parameters().max_level();
    return alice.encoder().encode(values, level, alice.parameters().level(level).scale);
  }
  [[nodiscard]] view encryption(double value, bool use_public_key) {
    const ciphertext made = alice.encrypt_plain(encoded(value), use_public_key);
    return {first_limb(made.parts[0]), first_limb(made.parts[1])};
  }
  [[nodiscard]] view encryption_by_child(double value, bool use_public_key = false) {
    return value_of_child<view>([&] { return encryption(value, use_public_key); });
  }
  /// Coefficients at which what is left when the difference of the messages is taken from the difference of
  /// two bodies is 0: all of them where randomness repeats, one in 2^30 where it does not.
  [[nodiscard]] std::size_t readable(const view& one, double first, const view& two, double second) {
    const plaintext p = encoded(first), q = encoded(second);
    const limb m = first_limb(p.value), n = first_limb(q.value);
    const std::uint64_t prime = prime_of(p.value);
    std::size_t count = 0;
    for (std::size_t i = 0; i < degree; ++i) {
      const std::uint64_t bodies = (one.b[i] + prime - two.b[i]) % prime;
      count += bodies == (m[i] + prime - n[i]) % prime ? 1 : 0;
    }
    return count;
  }
};

TEST_F(ClientFork, DifferencesOfBodiesTellNothingOfMessages) {
  (void)encryption(0.0, false);
  const view one = encryption_by_child(0.25), two = encryption_by_child(0.75), mine = encryption(0.5, false);
  EXPECT_NE(one.a, two.a);
  EXPECT_NE(one.a, mine.a);
  EXPECT_LT(readable(one, 0.25, two, 0.75), 4U);
  EXPECT_LT(readable(one, 0.25, mine, 0.5), 4U);
  EXPECT_LT(readable(two, 0.75, mine, 0.5), 4U);
}

TEST_F(ClientFork, EncryptionsThroughThePublicKeyDiffer) {
  (void)encryption(0.0, true);  // the children inherit the key
  const view one = encryption_by_child(0.25, true), two = encryption_by_child(0.75, true);
  EXPECT_NE(one.a, two.a);
  EXPECT_LT(readable(one, 0.25, two, 0.75), 4U);
}

TEST_F(ClientFork, RotationKeysDiffer) {
  using halves =
      std::array<std::array<std::byte, 4 * degree>, 2>;  // of the first digit, the first limb of each
  const std::uint64_t element = alice.parameters().galois_element(1);
  const auto make = [&] {
    const evaluation_key key = alice.make_key({element, alice.parameters().max_level()}, false);
    halves result;
    alice.context().device().download(result[0], key.digits[0].b, 0);
    alice.context().device().download(result[1], key.digits[0].a, 0);
    return result;
  };
  const halves one = value_of_child<halves>(make), two = value_of_child<halves>(make), mine = make();
  for (const std::size_t half : {0, 1}) {
    EXPECT_NE(one[half], two[half]);
    EXPECT_NE(one[half], mine[half]);
    EXPECT_NE(two[half], mine[half]);
  }
}

TEST_F(ClientFork, FloodingNoiseDiffers) {
  const ciphertext source = alice.encrypt_plain(encoded(0.5));
  using values = std::array<double, 512>;
  const auto decrypt = [&] {
    const std::vector<std::complex<double>> all = alice.decrypt(source, 20.0);
    values result;
    std::transform(all.begin(), all.begin() + result.size(), result.begin(),
                   [](const std::complex<double>& each) { return each.real(); });
    return result;
  };
  const values one = value_of_child<values>(decrypt), two = value_of_child<values>(decrypt), mine = decrypt();
  EXPECT_NE(one, two);
  EXPECT_NE(one, mine);
  EXPECT_NE(two, mine);
  EXPECT_NEAR(one[0], 0.5, 0.01);
}

TEST_F(ClientFork, AClientWithASeedRefusesToEncryptInAChild) {
  client seeded(params::preset("test-n10-d3"), {.threads = 1, .seed = backend::seed_bytes{1}});
  const ciphertext made =
      seeded.encrypt_plain(seeded.encoder().encode(std::vector<std::complex<double>>{0.5}, 1, 1e9));
  const int code = test::exit_code_of_child([&] {
    const auto encrypt = [&] { (void)seeded.encrypt(std::vector<std::complex<double>>{0.5}); };
    if (test::message_of<invalid_argument>(encrypt).find("forked") == std::string::npos) return 1;
    return std::abs(seeded.decrypt(made)[0] - 0.5) < 1e-3 ? 0 : 2;  // which draws nothing
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace halocline::ckks
