// SPDX-License-Identifier: Apache-2.0
#include "storage/digest/blake2b_lanes.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <vector>

namespace halocline::storage::digest {
namespace {

[[nodiscard]] std::vector<std::byte> sample(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  return out;
}

[[nodiscard]] bytes32 sample_key() {
  bytes32 key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(7 * i + 1);
  return key;
}

// Expected value: Python's hashlib.blake2b(bytes(128), digest_size=32, key=bytes(range(32))).
TEST(Blake2bLanes, MatchReferenceImplementation) {
  bytes32 key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::byte> zeros(3 * 128);
  std::vector<bytes32> out(3);
  blake2b_keyed(key, zeros, 128, out);
  const bytes32 expected{0x58, 0xa3, 0xce, 0xff, 0x62, 0x5d, 0x26, 0x60, 0x19, 0x00, 0x26,
                         0x36, 0xcb, 0x3d, 0x13, 0x20, 0x99, 0xa8, 0x95, 0x50, 0xeb, 0xea,
                         0x95, 0x26, 0xc0, 0x29, 0xfc, 0x1a, 0x4e, 0xe2, 0x3b, 0xc2};
  for (const bytes32& each : out) EXPECT_EQ(each, expected);
}

// libsodium is another implementation. Every number of messages, so that all lanes and all remainders occur.
TEST(Blake2bLanes, EqualDigestsOneByOne) {
  const bytes32 key = sample_key();
  for (const std::size_t length : {128U, 256U, 1024U, 65536U}) {
    const std::size_t most = 2 * blake2b_lanes() + 1;
    const std::vector<std::byte> bytes = sample(most * length);
    std::vector<bytes32> expected(most);
    for (std::size_t i = 0; i < most; ++i) {
      crypto_generichash_blake2b(expected[i].data(), expected[i].size(),
                                 reinterpret_cast<const unsigned char*>(bytes.data() + i * length), length,
                                 key.data(), key.size());
      EXPECT_EQ(blake2b_keyed(key, std::span(bytes).subspan(i * length, length)), expected[i]);
    }
    for (std::size_t count = 0; count <= most; ++count) {
      std::vector<bytes32> out(count);
      blake2b_keyed(key, std::span(bytes).first(count * length), length, out);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin())) << count << " of " << length;
    }
  }
}

TEST(Blake2bLanes, EveryLaneSeesItsOwnMessage) {
  const std::size_t count = 2 * blake2b_lanes();
  std::vector<std::byte> bytes = sample(count * 256);
  std::vector<bytes32> before(count);
  blake2b_keyed(sample_key(), bytes, 256, before);
  for (std::size_t changed = 0; changed < count; ++changed) {
    bytes[changed * 256 + 200] ^= std::byte{1};
    std::vector<bytes32> after(count);
    blake2b_keyed(sample_key(), bytes, 256, after);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(after[i] != before[i], i == changed) << i;
    bytes[changed * 256 + 200] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace halocline::storage::digest
