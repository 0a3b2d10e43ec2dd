// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::params {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The preset n14-d7 with one change must be refused with `fragment` in the message.
template <typename ErrorT = invalid_argument>
void expect_refused(const std::function<void(literal&)>& change, const std::string& fragment) {
  literal source = preset_literal("n14-d7");
  change(source);
  EXPECT_THAT([&] { (void)parameters::from_literal(source); }, ThrowsMessage<ErrorT>(HasSubstr(fragment)));
}

TEST(Parameters, GettersOfA32BitSet) {
  const parameters p = preset("n14-d7");
  EXPECT_EQ(p.name(), "n14-d7");
  EXPECT_EQ(p.log_n(), 14U);
  EXPECT_EQ(p.n(), 16384U);
  EXPECT_EQ(p.slots(), 8192U);
  EXPECT_EQ(p.word_bits(), 32U);
  EXPECT_EQ(p.word_bytes(), 4U);
  EXPECT_EQ(p.limb_bytes(), 65536U);
  EXPECT_EQ(p.special_count(), 3U);
  EXPECT_EQ(p.terminal_count(), 2U);
  EXPECT_EQ(p.main_count(), 10U);
  EXPECT_EQ(p.prime_count(), 15U);
  EXPECT_EQ(p.primes().size(), 15U);
  EXPECT_EQ(p.special_window(), (arith::window{0, 3}));
  EXPECT_EQ(p.all_window(), (arith::window{0, 15}));
  EXPECT_EQ(p.max_level(), 7U);
  EXPECT_EQ(p.target_scale(), std::exp2(40));
  EXPECT_EQ(p.level(0).scale, std::exp2(40));
  EXPECT_EQ(p.level(7).q, (arith::window{3, 12}));
  EXPECT_EQ(p.level(6).q, (arith::window{5, 10}));
  EXPECT_EQ(p.level(5).q, (arith::window{4, 9}));
  EXPECT_EQ(p.secret(), secret_distribution{});
  EXPECT_EQ(p.error_stddev(), 3.2);
  EXPECT_NEAR(p.log2_q(), 340, 0.5);
  EXPECT_NEAR(p.log2_p(), 90, 0.1);
  EXPECT_NEAR(p.log2_pq(), 430, 0.5);
  EXPECT_GE(p.security_bits(), 128);
  EXPECT_EQ(p.security().max_log2_pq, 430);
}

TEST(Parameters, GettersOfA64BitSet) {
  const parameters p = preset("test-n10-d3-w64");
  EXPECT_EQ(p.word_bytes(), 8U);
  EXPECT_EQ(p.limb_bytes(), 8192U);
  EXPECT_EQ(p.terminal_count(), 0U);
  EXPECT_EQ(p.main_count(), 4U);
  for (unsigned l = 0; l <= 3; ++l) EXPECT_EQ(p.level(l).q, (arith::window{2, l + 1}));
  EXPECT_EQ(p.level(2).dropped, std::vector<std::uint32_t>{4});
}

TEST(Parameters, DigitsPartitionTheChain) {
  const parameters p = preset("test-n11-d8");  // K 3, A 2, B 12, alpha 3
  ASSERT_EQ(p.digit_count(), 5U);
  EXPECT_EQ(p.digit(0), (arith::window{3, 3}));
  EXPECT_EQ(p.digit(3), (arith::window{12, 3}));
  EXPECT_EQ(p.digit(4), (arith::window{15, 2}));
  EXPECT_THROW((void)p.digit(5), invalid_argument);
}

TEST(Parameters, KeysOfALevelServeAllLowerLevels) {
  literal source = preset_literal("test-n11-d8");
  source.terminal_bits = 25;  // here the mains do not grow with every level
  const parameters p = parameters::from_literal(source);
  EXPECT_EQ(p.level(0).q.end(), p.special_count() + p.terminal_count() + 2);
  EXPECT_EQ(p.level(1).q.end(), p.special_count() + p.terminal_count());
  EXPECT_EQ(p.key_limbs(1), p.level(0).q.end());
  EXPECT_EQ(p.key_limbs(p.max_level()), p.prime_count());
  EXPECT_THROW((void)p.key_limbs(9), invalid_argument);
  EXPECT_THAT([&] { (void)p.level(9); }, ThrowsMessage<invalid_argument>(HasSubstr("have levels 0..8")));
}

TEST(Parameters, GaloisElements) {
  for (const unsigned generator : {5U, 3U}) {
    literal source = preset_literal("test-n10-d3");
    source.galois_generator = generator;
    const parameters p = parameters::from_literal(source);
    const std::uint64_t two_n = 2 * p.n();
    const auto slots = static_cast<std::int64_t>(p.slots());
    std::set<std::uint64_t> seen;
    std::uint64_t power = 1;
    for (std::int64_t k = 0; k < slots; ++k, power = power * generator % two_n) {
      EXPECT_EQ(p.galois_element(k), power);
      EXPECT_EQ(p.galois_element(k - slots), power);
      EXPECT_EQ(p.galois_element(k + 7 * slots), power);
      EXPECT_EQ(p.galois_element(k) * p.galois_element(-k) % two_n, 1U);
      seen.insert(power);
      seen.insert(two_n - power);
    }
    EXPECT_EQ(seen.size(), p.n());  // with conjugation: all odd residues
    EXPECT_EQ(p.conjugation_element(), two_n - 1);
    EXPECT_EQ(p.galois_element(std::numeric_limits<std::int64_t>::min()), 1U);
  }
}

TEST(Parameters, EqualityAndFingerprint) {
  const parameters p = preset("n14-d7");
  literal source = p.source();
  source.name = "renamed";
  source.allow_insecure = true;
  EXPECT_EQ(parameters::from_literal(source), p);
  EXPECT_EQ(parameters::from_json(p.to_json()), p);
  source.error_stddev = 3.3;
  EXPECT_FALSE(parameters::from_literal(source) == p);
  std::set<fingerprint_bytes> all;
  for (const std::string& name : preset_names()) all.insert(preset(name).fingerprint());
  EXPECT_EQ(all.size(), preset_names().size());
}

TEST(Parameters, RefusesFieldsOutOfRange) {
  expect_refused([](literal& s) { s.name = "a b"; }, "name has a character");
  expect_refused([](literal& s) { s.name = std::string(65, 'a'); }, "name has 65 characters");
  expect_refused([](literal& s) { s.log_n = 9; }, "log_n is 9; expected 10..17");
  expect_refused([](literal& s) { s.log_n = 64; }, "log_n is 64");
  expect_refused([](literal& s) { s.word_bits = 16; }, "word_bits is 16; expected 32 or 64");
  expect_refused([](literal& s) { s.depth = 1000; }, "depth is 1000");
  expect_refused([](literal& s) { s.scale_bits = std::nan(""); }, "scale_bits is nan");
  expect_refused([](literal& s) { s.base_bits = 40; }, "base_bits is 40; expected scale_bits + 1 = 41");
  expect_refused([](literal& s) { s.main_bits = 31; }, "main_bits is 31; expected 21..30");
  expect_refused([](literal& s) { s.terminal_bits = 19; }, "terminal_bits is 19; expected 19.5..30");
  expect_refused([](literal& s) { s.special_bits = 30.5; }, "special_bits is 30.5");
  expect_refused([](literal& s) { s.special_primes = 0; }, "special_primes is 0");
  expect_refused([](literal& s) { s.digit_size = 0; }, "digit_size is 0");
  expect_refused([](literal& s) { s.digit_size = 13; }, "digit_size is 13; expected at most the 12 primes");
  expect_refused([](literal& s) { s.error_stddev = 0; }, "error_stddev is 0");
  expect_refused([](literal& s) { s.galois_generator = 7; }, "galois_generator is 7");
  expect_refused([](literal& s) { s.secret.hamming_weight = 3; },
                 "hamming_weight is 3 with a ternary secret");
  expect_refused([](literal& s) { s.secret = {secret_kind::sparse, 0}; }, "hamming_weight is 0");
  expect_refused([](literal& s) { s.secret = {secret_kind::sparse, 16385}; }, "hamming_weight is 16385");
  expect_refused([](literal& s) { s.word_bits = 64; }, "they apply to 32-bit words only");
}

TEST(Parameters, RefusesWhatDoesNotFitTogether) {
  expect_refused([](literal& s) { s.digit_size = 4; },
                 "raise special_primes or special_bits, or lower digit_size");
  expect_refused([](literal& s) { s.base_bits = 65; }, "set base_bits to");
  expect_refused([](literal& s) { s.scale_bits = 20.5; }, "which is no sum of primes");
  const auto many = [](literal& s) {
    s.depth = 127;
    s.special_primes = 48;
    s.allow_insecure = true;
  };
  expect_refused([&](literal& s) { many(s), s.scale_bits = 58, s.terminal_bits = 28; }, "primes");
  // 2^17 has a single prime near 2^20.
  expect_refused([](literal& s) { s.log_n = 17; }, "take larger terminal primes");
}

TEST(Parameters, RefusesInsecureSets) {
  expect_refused<insecure_parameters>(
      [](literal& s) { s.log_n = 13; },
      "at ring degree 2^13, about 63 bits of security; expected log2(PQ) <= 214");
  expect_refused<insecure_parameters>([](literal& s) { s.depth = 8; }, "ePrint 2024/463");
  expect_refused<insecure_parameters>(
      [](literal& s) {
        s.secret = {secret_kind::sparse, 192};
      },
      "no published bound applies to ring degree 2^14 with a secret of Hamming weight");
  expect_refused<insecure_parameters>([](literal& s) { s.error_stddev = 2; }, "error_stddev 2 is below 3.19");
  literal source = preset_literal("n14-d7");
  source.secret = {secret_kind::sparse, 64};
  source.allow_insecure = true;
  EXPECT_EQ(parameters::from_literal(source).security_bits(), 0);
}

// Files carry fingerprints: a change here makes old files unreadable and must be deliberate.
TEST(Parameters, FingerprintIsStable) {
  const auto hex = [](std::string_view name) {
    std::string text;
    for (const unsigned byte : preset(name).fingerprint()) {
      text += "0123456789abcdef"[byte >> 4U];
      text += "0123456789abcdef"[byte & 15U];
    }
    return text;
  };
  EXPECT_EQ(hex("test-n10-d3"), "73ff83f0b62cebb79c9c4c65701f27ac");
  EXPECT_EQ(hex("test-n10-d3-w64"), "9da5f13de8a8ca672f17294e76d7bd05");
}

}  // namespace
}  // namespace halocline::params
