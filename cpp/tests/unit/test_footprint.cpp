// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/footprint.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::params {
namespace {

// n14-d7: N 16384, limb 64 KiB, K 3, A 2, B 10, alpha 3; level 7 has 12 primes, level 6 ten, level 1 four.
constexpr std::size_t limb = 65536;

TEST(Footprint, CiphertextsAndPlaintexts) {
  const footprint f(preset("n14-d7"));
  EXPECT_EQ(f.ciphertext(7), 2 * 12 * limb);
  EXPECT_EQ(f.ciphertext(7, 3), 3 * 12 * limb);
  EXPECT_EQ(f.ciphertext(1), 2 * 4 * limb);
  EXPECT_EQ(f.ciphertext(0), 2 * 2 * limb);
  EXPECT_EQ(f.ciphertext_seeded(7), 12 * limb + 32);
  EXPECT_EQ(f.plaintext(6), 10 * limb);
  EXPECT_EQ(f.plaintext_compact(), 8U * 16384);
  EXPECT_THROW((void)f.ciphertext(8), invalid_argument);
}

TEST(Footprint, Keys) {
  const footprint f(preset("n14-d7"));
  EXPECT_EQ(f.key_digits(7), 4U);
  EXPECT_EQ(f.evaluation_key(7), 4 * 2 * 15 * limb);
  EXPECT_EQ(f.evaluation_key_seeded(7), 4 * (15 * limb + 32));
  // Level 3 ends after 6 mains: 3 + 2 + 6 primes, 8 of them in the chain, 3 digits.
  EXPECT_EQ(f.key_digits(3), 3U);
  EXPECT_EQ(f.evaluation_key(3), 3 * 2 * 11 * limb);
  EXPECT_EQ(f.public_key(), 2 * 12 * limb);
  EXPECT_EQ(f.secret_key(), 8 * 16384 + 15 * limb);
}

TEST(Footprint, KeySetCountsDistinctElements) {
  const footprint f(preset("n14-d7"));
  const std::vector<std::int64_t> rotations = {1, 2,    -1, 8191,
                                               0, 8192, 1};  // three distinct, identity needs none
  EXPECT_EQ(f.key_set(rotations, false, false, 7), 3 * f.evaluation_key(7));
  EXPECT_EQ(f.key_set(rotations, true, true, 5, true), 5 * f.evaluation_key_seeded(5));
  EXPECT_EQ(f.key_set({}, false, false, 5), 0U);
}

TEST(Footprint, TablesAndWorkspace) {
  const footprint f(preset("n14-d7"));
  EXPECT_EQ(f.ring_tables(), 15 * (4 * limb + 24));
  EXPECT_EQ(f.permutation(), 4U * 16384);
  // Level 6 has no terminals: its window starts inside digit 0 = {T1, T0, Q0}.
  EXPECT_EQ(f.active_digits(6), 4U);
  EXPECT_EQ(f.key_switch_workspace(6), (10 + (4 + 2) * 13) * limb);
  EXPECT_EQ(f.active_digits(0), 2U);
  EXPECT_EQ(f.of(), preset("n14-d7"));
}

TEST(Footprint, WideWords) {
  const footprint f(preset("FVc"));  // N 2^17, 40 primes, K 20, alpha 20
  EXPECT_EQ(f.ciphertext(39), std::size_t{2} * 40 * (1U << 20U));
  EXPECT_EQ(f.evaluation_key(39), std::size_t{2} * 2 * 60 * (1U << 20U));
}

}  // namespace
}  // namespace halocline::params
