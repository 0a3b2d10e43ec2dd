// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>

#include "halocline/seal_format/blake2.hpp"
#include "seal/util/hash.h"
#include "seal/util/uintcore.h"

namespace seal::util {
namespace {

/// Divides a number of words by `divisor` in place, and returns the remainder.
std::uint64_t divide(std::vector<std::uint64_t>& words, std::uint64_t divisor) {
  unsigned __int128 rest = 0;
  for (std::size_t i = words.size(); i-- > 0;) {
    rest = (rest << 64) | words[i];
    words[i] = static_cast<std::uint64_t>(rest / divisor);
    rest %= divisor;
  }
  return static_cast<std::uint64_t>(rest);
}

std::string digits(const std::uint64_t* value, std::size_t count, unsigned base) {
  std::vector<std::uint64_t> words(value, value + count);
  std::string text;
  const auto is_zero = [&] {
    return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; });
  };
  while (!is_zero()) text.push_back("0123456789ABCDEF"[divide(words, base)]);
  if (text.empty()) text = "0";
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

void HashFunction::hash(const std::uint64_t* input, std::size_t uint64_count, hash_block_type& destination) {
  std::array<std::uint8_t, hash_block_byte_count> digest;
  ::halocline::seal_format::blake2b(
      digest, {reinterpret_cast<const std::uint8_t*>(input), uint64_count * sizeof(std::uint64_t)});
  std::memcpy(destination.data(), digest.data(), digest.size());
}

int get_significant_bit_count(std::uint64_t value) noexcept {
  return static_cast<int>(std::bit_width(value));
}

bool is_equal_uint(const std::uint64_t* operand1, const std::uint64_t* operand2,
                   std::size_t uint64_count) noexcept {
  return std::equal(operand1, operand1 + uint64_count, operand2);
}

std::string uint_to_hex_string(const std::uint64_t* value, std::size_t uint64_count) {
  return digits(value, uint64_count, 16);
}

std::string uint_to_dec_string(const std::uint64_t* value, std::size_t uint64_count) {
  return digits(value, uint64_count, 10);
}

}  // namespace seal::util
