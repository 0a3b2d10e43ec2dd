// SPDX-License-Identifier: Apache-2.0
// Hashes of SEAL's identifiers and seeds, with values of the standards and of SEAL itself.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "halocline/seal_format/blake2.hpp"
#include "halocline/seal_format/chain.hpp"
#include "halocline/seal_format/expand.hpp"
#include "halocline/seal_format/keccak.hpp"

namespace halocline::seal_format {
namespace {

std::string hex(const std::uint8_t* bytes, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr const char* digits = "0123456789abcdef";
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}

std::vector<std::uint8_t> counting(std::size_t count) {
  std::vector<std::uint8_t> made(count);
  std::iota(made.begin(), made.end(), std::uint8_t{0});
  return made;
}

std::string digest_of(const std::vector<std::uint64_t>& words) {
  std::array<std::uint8_t, 32> out;
  blake2b(out, {reinterpret_cast<const std::uint8_t*>(words.data()), 8 * words.size()});
  return hex(out.data(), out.size());
}

TEST(SealHashes, Blake2bGivesTheValuesOfOtherImplementations) {
  std::array<std::uint8_t, 64> out;
  const std::array<std::uint8_t, 3> abc{'a', 'b', 'c'};
  blake2b(out, abc);  // RFC 7693, appendix A
  EXPECT_EQ(hex(out.data(), 8), "ba80a53f981c4d0d");
  blake2b(std::span(out).first(32), std::vector<std::uint8_t>(256));  // Python's hashlib; two full blocks
  EXPECT_EQ(hex(out.data(), 8), "2b69702a889248a4");
  blake2b(std::span(out).first(32), {});
  EXPECT_EQ(hex(out.data(), 8), "0e5751c026e543b2");
}

TEST(SealHashes, Shake256GivesTheValuesOfOtherImplementations) {
  std::array<std::uint8_t, 300> out;
  shake256(out, {});  // FIPS 202
  EXPECT_EQ(hex(out.data(), 8), "46b9dd2b0ba88d13");
  shake256(out, counting(200));  // Python's hashlib; more than one block in and out
  EXPECT_EQ(hex(out.data(), 8), "4ee1ca03272b05d3");
  EXPECT_EQ(hex(out.data() + 292, 8), "e84e1a11a635bfe7");
}

/// Primes of which 2^64 leaves much: one word in 20 to 40 is drawn again.
parameters recorded_parameters() {
  return {scheme::ckks, 1024, {1095275429376501761, 599519182395512833, 1118333859468630017}, 0};
}

TEST(SealHashes, IdentifiersAreThoseOfSeal) {
  const auto text = [](const id_words& id) {
    return hex(reinterpret_cast<const std::uint8_t*>(id.data()), sizeof id);
  };
  // Of files that SEAL 4.4 (seal-python 4.4.0) and SEAL 4.3 (TenSEAL 0.3.18) wrote.
  EXPECT_EQ(text(parms_id({scheme::ckks, 4096, {0xffffc4001, 0xffffee001, 0x1ffffe0001}, 0})),
            "6dcb0e8f45b3db29f2fca4adbf43bfc9b681fc673851d7a8b7537c48ac4e74aa");
  EXPECT_EQ(text(parms_id({scheme::ckks, 1024, {1095275429376501761, 599519182395512833}, 0})),
            "40a32f61ba052abd525f86ad640d31739d0f89ef16be4faf7eeede717a994863");
}

TEST(SealHashes, ASeedExpandsToWhatSealExpandsItTo) {
  // A symmetric encryption that TenSEAL 0.3.18 (SEAL 4.3) wrote with a seed, and what it made of it.
  seed from;
  const std::string recorded =
      "8a09f626dbb6bfadb72f41fb4d4c0990f0be77f5b3b55fbe1b9c42091ac7e902"
      "2946fc14b73a134d012fa12581e3d0a4d7abdf037037e2e29dac253cf0e6a2d1";
  for (std::size_t i = 0; i < 64; ++i) {
    from.bytes[i] = static_cast<std::uint8_t>(std::stoul(recorded.substr(2 * i, 2), nullptr, 16));
  }
  const parameters top = recorded_parameters();
  std::vector<std::uint64_t> made;
  append_expanded(from, std::span(top.primes).first(2), top.n, made);
  ASSERT_EQ(made.size(), 2048U);
  EXPECT_EQ(made[0], 0x7bcda9a811fc5dfU);
  EXPECT_EQ(made[1], 0xd260a3000326e17U);
  EXPECT_EQ(made[1024], 0x457399635e50bf7U);
  EXPECT_EQ(made[2047], 0x367e00c17457136U);
  EXPECT_EQ(digest_of(made), "7d5a20a6542e8da50e26d485067025c519821db51654e3981f6ef92570925e00");
}

}  // namespace
}  // namespace halocline::seal_format
