// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Numbers of equal bit length one after the other: bit i of value j is bit j bits + i, least significant
/// bits of bytes first. Lengths are multiples of 8 bits in all messages, so there is no padding.
namespace halocline::pir {

/// Bytes of `count` values.
[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t count, unsigned bits) noexcept {
  return count * bits / 8;
}

/// Writes values below 2^bits.
/// @param bits 1 to 63
/// @param out packed_bytes(values.size(), bits) of them
template <typename WordT>
void pack_bits(std::span<const WordT> values, unsigned bits, std::byte* out) {
  std::uint64_t gathered = 0;
  unsigned fill = 0;
  for (const WordT word : values) {
    const auto value = static_cast<std::uint64_t>(word);
    gathered |= value << fill;
    fill += bits;
    if (fill < 64) continue;
    std::memcpy(out, &gathered, sizeof gathered);
    out += sizeof gathered;
    fill -= 64;
    gathered = fill == 0 ? 0 : value >> (bits - fill);
  }
  std::memcpy(out, &gathered, fill / 8);
}

/// The value that begins at bit `at`; `Whole`: the 8 bytes from its first one on are there.
template <bool Whole>
[[nodiscard]] inline std::uint64_t unpack_at(std::span<const std::byte> packed, std::size_t at,
                                             unsigned bits) {
  const std::size_t first = at / 8;
  const auto shift = static_cast<unsigned>(at % 8);
  std::uint64_t loaded = 0;
  std::memcpy(&loaded, packed.data() + first, Whole ? sizeof loaded : packed.size() - first);
  std::uint64_t value = loaded >> shift;
  if (shift + bits > 64) value |= static_cast<std::uint64_t>(packed[first + 8]) << (64 - shift);
  return value & ((std::uint64_t{1} << bits) - 1);
}

/// Reads values; the inverse of `pack_bits`.
/// @param packed packed_bytes(out.size(), bits) bytes
template <typename WordT>
void unpack_bits(std::span<const std::byte> packed, unsigned bits, std::span<WordT> out) {
  const std::size_t whole =
      packed.size() < 8 ? 0 : std::min(out.size(), 8 * (packed.size() - 8) / bits + 1);  // most of them
  for (std::size_t j = 0; j < whole; ++j) {
    out[j] = static_cast<WordT>(unpack_at<true>(packed, j * bits, bits));
  }
  for (std::size_t j = whole; j < out.size(); ++j) {
    out[j] = static_cast<WordT>(unpack_at<false>(packed, j * bits, bits));
  }
}

}  // namespace halocline::pir
