// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>
#include <vector>

#include "halocline/ring/uniform_stream.hpp"

namespace {

using namespace halocline::ring;

TEST(UniformStream, BlockMatchesRfc8439) {
  // Section 2.3.2: key 00 01 .. 1f, nonce 00000009 0000004a 00000000, counter 1.
  std::uint8_t seed[32];
  for (int i = 0; i < 32; ++i) seed[i] = static_cast<std::uint8_t>(i);
  const chacha_block block = chacha20(make_chacha_key(seed), 1, {0x09000000, 0x4a000000, 0});
  const std::uint32_t expected[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
                                      0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                      0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  for (int i = 0; i < 16; ++i) EXPECT_EQ(block.words[i], expected[i]) << i;
}

TEST(UniformStream, BlocksMatchLibsodium) {
  ASSERT_GE(sodium_init(), 0);
  std::uint8_t seed[32];
  for (int i = 0; i < 32; ++i) seed[i] = static_cast<std::uint8_t>(7 * i + 3);
  const std::uint32_t nonce[3] = {0xdeadbeef, 5, 2};
  std::vector<unsigned char> stream(64 * 9, 0);
  crypto_stream_chacha20_ietf_xor_ic(stream.data(), stream.data(), stream.size(),
                                     reinterpret_cast<const unsigned char*>(nonce), 1000, seed);
  for (std::uint32_t i = 0; i < 9; ++i) {
    const chacha_block block = chacha20(make_chacha_key(seed), 1000 + i, {nonce[0], nonce[1], nonce[2]});
    EXPECT_EQ(std::memcmp(block.words, stream.data() + 64 * i, 64), 0) << i;
  }
}

TEST(UniformStream, TakesTheFirstCandidateBelowTheModulus) {
  std::uint8_t seed[32] = {1, 2, 3};
  const chacha_key key = make_chacha_key(seed);
  const auto q = make_modulus<std::uint32_t>(65537);  // half of all 17-bit candidates fail
  int retried = 0;
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint32_t attempt = 0;
    std::uint32_t candidate = 0;
    do {
      const chacha_block block = chacha20(key, static_cast<std::uint32_t>(i / 16), {9, 4, attempt++});
      candidate = block.words[i % 16] & 0x1ffff;
    } while (candidate >= q.value);
    retried += attempt > 1 ? 1 : 0;
    EXPECT_EQ(uniform_word(key, 9, 4, i, q), candidate) << i;
  }
  EXPECT_GT(retried, 64);
}

TEST(UniformStream, WideWordsTakeTwoStreamWords) {
  std::uint8_t seed[32] = {9};
  const chacha_key key = make_chacha_key(seed);
  const auto q = make_modulus<std::uint64_t>((std::uint64_t{1} << 61) - 1);  // only one candidate fails
  for (std::size_t i = 0; i < 40; ++i) {
    const chacha_block block = chacha20(key, static_cast<std::uint32_t>(i / 8), {3, 1, 0});
    const std::uint64_t low = block.words[2 * (i % 8)], high = block.words[2 * (i % 8) + 1];
    EXPECT_EQ(uniform_word(key, 3, 1, i, q), (high << 32 | low) & q.value) << i;
  }
}

}  // namespace
