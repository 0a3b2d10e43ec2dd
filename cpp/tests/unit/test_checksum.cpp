// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/checksum.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

namespace halocline::io {
namespace {

[[nodiscard]] std::span<const std::byte> bytes_of(std::string_view letters) {
  return std::as_bytes(std::span(letters));
}

// Expected values: xxHash 0.8 reference implementation (XXH64, seed 0).
TEST(Checksum64, MatchesReferenceImplementation) {
  EXPECT_EQ(checksum64({}), 0xef46db3751d8e999U);
  EXPECT_EQ(checksum64(bytes_of("abc")), 0x44bc2cf5ad770999U);
  EXPECT_EQ(checksum64(bytes_of(std::string(1000, '\7'))), 0x9811439635e8b9e9U);
  std::vector<std::uint8_t> ascending(256);
  std::iota(ascending.begin(), ascending.end(), std::uint8_t{0});
  EXPECT_EQ(checksum64(std::as_bytes(std::span(ascending))), 0x1facbe8406cd904bU);
}

TEST(Checksum64, SeesEverySingleBitFlip) {
  std::vector<std::byte> bytes(77, std::byte{0x5a});
  const std::uint64_t whole = checksum64(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(checksum64(bytes), whole) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

// Expected value: Python's hashlib.blake2b(b"abc", digest_size=16).
TEST(Blake2b128, MatchesReferenceImplementation) {
  const digest128 expected{0xcf, 0x4a, 0xb7, 0x91, 0xc6, 0x2b, 0x8d, 0x2b,
                           0x21, 0x09, 0xc9, 0x02, 0x75, 0x28, 0x78, 0x16};
  EXPECT_EQ(blake2b_128(bytes_of("abc")), expected);
}

}  // namespace
}  // namespace halocline::io
