// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "halocline/arith/uniform_stream.hpp"

namespace {

using namespace halocline::arith;
using halocline::stream_rule;

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

// Test vectors for the Stream Cipher ChaCha (draft-strombergson-chacha-test-vectors-01), section 4, TC1: 8
// rounds, 256-bit key. Key and nonce are zero, so that the width of the counter makes no difference.
TEST(UniformStream, EightRoundsMatchThePublishedVectors) {
  const std::uint8_t seed[32] = {};
  const std::uint8_t expected[128] = {
      0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6, 0x7f, 0x5b, 0xb8, 0xe8, 0x1f, 0x09, 0xa5, 0xa1,
      0x2c, 0x84, 0x0e, 0xc3, 0xce, 0x9a, 0x7f, 0x3b, 0x18, 0x1b, 0xe1, 0x88, 0xef, 0x71, 0x1a, 0x1e,
      0x98, 0x4c, 0xe1, 0x72, 0xb9, 0x21, 0x6f, 0x41, 0x9f, 0x44, 0x53, 0x67, 0x45, 0x6d, 0x56, 0x19,
      0x31, 0x4a, 0x42, 0xa3, 0xda, 0x86, 0xb0, 0x01, 0x38, 0x7b, 0xfd, 0xb8, 0x0e, 0x0c, 0xfe, 0x42,
      0xd2, 0xae, 0xfa, 0x0d, 0xea, 0xa5, 0xc1, 0x51, 0xbf, 0x0a, 0xdb, 0x6c, 0x01, 0xf2, 0xa5, 0xad,
      0xc0, 0xfd, 0x58, 0x12, 0x59, 0xf9, 0xa2, 0xaa, 0xdc, 0xf2, 0x0f, 0x8f, 0xd5, 0x66, 0xa2, 0x6b,
      0x50, 0x32, 0xec, 0x38, 0xbb, 0xc5, 0xda, 0x98, 0xee, 0x0c, 0x6f, 0x56, 0x8b, 0x87, 0x2a, 0x65,
      0xa0, 0x8a, 0xbf, 0x25, 0x1d, 0xeb, 0x21, 0xbb, 0x4b, 0x56, 0xe5, 0xd8, 0x82, 0x1e, 0x68, 0xaa};
  for (std::uint32_t counter = 0; counter < 2; ++counter) {
    const chacha_block block = chacha<8>(make_chacha_key(seed), counter, {0, 0, 0});
    EXPECT_EQ(std::memcmp(block.words, expected + std::size_t{64} * counter, 64), 0) << counter;
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
    EXPECT_EQ(uniform_word({key, 9, 4, stream_rule::chacha20_retry}, i, q), candidate) << i;
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
    EXPECT_EQ(uniform_word({key, 3, 1, stream_rule::chacha20_retry}, i, q), (high << 32 | low) & q.value);
    const chacha_block less = chacha<8>(key, static_cast<std::uint32_t>(i / 8), {3, 1, 0});
    const std::uint64_t half = less.words[2 * (i % 8)];
    const std::uint64_t word = std::uint64_t{less.words[2 * (i % 8) + 1]} << 32 | half;
    EXPECT_EQ(uniform_word({key, 3, 1, stream_rule::chacha8_spare}, i, q), word & q.value) << i;
  }
}

/// Words of a group as the rule says it, from lists.
template <typename WordT>
std::vector<WordT> listed_group(const uniform_limb& limb, std::uint32_t group, const modulus<WordT>& q) {
  const auto words_of = [&](std::uint32_t counter, std::uint32_t attempt) {
    std::vector<WordT> words;
    const chacha_block block = chacha<8>(limb.key, counter, {limb.stream, limb.prime, attempt});
    for (std::size_t i = 0; i < words_per_block<WordT>; ++i) {
      words.push_back(block_word<WordT>(block, i) & candidate_mask(q));
    }
    return words;
  };
  std::vector<WordT> words, spare;
  for (std::uint32_t b = 0; b < 16; ++b) {
    for (const WordT word : words_of(16 * group + b, 0)) words.push_back(word);
  }
  const auto is_rejected = [&](WordT word) { return word >= q.value; };
  const auto rejected = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_rejected));
  for (std::uint32_t attempt = 1; spare.size() < rejected; ++attempt) {
    for (const WordT word : words_of(group, attempt)) {
      if (!is_rejected(word)) spare.push_back(word);
    }
  }
  std::size_t next = 0;
  for (WordT& word : words) {
    if (is_rejected(word)) word = spare[next++];
  }
  return words;
}

template <typename WordT>
class SpareWords : public testing::Test {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(SpareWords, words);

/// A share of 1/4096 rejected, 4 %, 25 % and almost half.
template <typename WordT>
std::vector<modulus<WordT>> moduli() {
  const WordT top = WordT{1} << (sizeof(WordT) == 4 ? 30 : 60);
  std::vector<modulus<WordT>> made;
  for (const WordT q : {top - top / 4096 + 1, top - top / 25 + 1, top / 4 * 3 + 1, top / 2 + 1}) {
    made.push_back(make_modulus<WordT>(q | 1));
  }
  return made;
}

TYPED_TEST(SpareWords, ReplaceTheRejectedOnesInOrder) {
  std::uint8_t seed[32] = {4, 5, 6};
  for (const auto& q : moduli<TypeParam>()) {
    const uniform_limb limb{make_chacha_key(seed), 11, 3, stream_rule::chacha8_spare};
    for (const std::uint32_t group : {0U, 1U, 77U}) {
      const std::vector<TypeParam> expected = listed_group(limb, group, q);
      std::vector<TypeParam> whole(expected.size());
      uniform_group(limb, group, q, whole.data(), whole.size());
      ASSERT_EQ(whole, expected) << q.value;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        ASSERT_EQ(uniform_word(limb, group * whole.size() + i, q), expected[i]) << q.value << ", word " << i;
      }
    }
  }
}

TYPED_TEST(SpareWords, AShortGroupIsTheBeginningOfALongOne) {
  std::uint8_t seed[32] = {7};
  for (const auto& q : moduli<TypeParam>()) {
    const uniform_limb limb{make_chacha_key(seed), 0, 2, stream_rule::chacha8_spare};
    std::vector<TypeParam> whole(words_per_group<TypeParam>);
    uniform_group(limb, 5, q, whole.data(), whole.size());
    for (std::size_t count = 1; count <= whole.size(); ++count) {
      std::vector<TypeParam> part(whole.size(), ~TypeParam{0});
      uniform_group(limb, 5, q, part.data(), count);
      ASSERT_TRUE(std::equal(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count), whole.begin()));
      ASSERT_EQ(std::count(part.begin(), part.end(), ~TypeParam{0}),
                static_cast<std::ptrdiff_t>(whole.size() - count));
    }
  }
}

// Chi-square over 64 equal ranges below q and over neighbouring pairs of 8 ranges each, for all words and for
// those that replace rejected ones. The stream is fixed: it passes or fails for good, within five standard
// deviations.
TYPED_TEST(SpareWords, AreUniform) {
  std::uint8_t seed[32] = {20, 26};
  constexpr std::size_t bins = 64, groups = 400;
  for (const auto& q : moduli<TypeParam>()) {
    std::vector<double> all(bins), replaced(bins), pairs(bins);
    const uniform_limb limb{make_chacha_key(seed), 1, 0, stream_rule::chacha8_spare};
    const auto bin_of = [&](TypeParam word, std::size_t count) {
      return static_cast<std::size_t>(static_cast<double>(word) * static_cast<double>(count) /
                                      static_cast<double>(q.value));
    };
    std::vector<TypeParam> group(words_per_group<TypeParam>);
    for (std::size_t g = 0; g < groups; ++g) {
      uniform_group(limb, g, q, group.data(), group.size());
      for (std::size_t i = 0; i < group.size(); ++i) {
        const auto counter = static_cast<std::uint32_t>(g * 16 + i / words_per_block<TypeParam>);
        const chacha_block block = chacha<8>(limb.key, counter, {limb.stream, limb.prime, 0});
        const bool kept =
            (block_word<TypeParam>(block, i % words_per_block<TypeParam>) & candidate_mask(q)) == group[i];
        const std::size_t bin = bin_of(group[i], bins);
        all[bin] += 1;
        if (!kept) replaced[bin] += 1;
        if (i % 2 == 1) pairs[8 * bin_of(group[i - 1], 8) + bin_of(group[i], 8)] += 1;
      }
    }
    for (const auto& counts : {all, replaced, pairs}) {
      const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
      if (total < 10 * bins) continue;  // hardly any are rejected
      double chi_square = 0;
      for (const double count : counts) {
        chi_square += (count - total / bins) * (count - total / bins) / (total / bins);
      }
      EXPECT_NEAR(chi_square, bins - 1, 5 * std::sqrt(2.0 * (bins - 1))) << q.value;
    }
  }
}

}  // namespace
