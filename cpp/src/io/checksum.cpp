// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/checksum.hpp"

#include <sodium.h>

#include <bit>
#include <cstring>

namespace halocline::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "container files are little endian and read in place");

// Names and values of the xxHash specification.
constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4FULL;
constexpr std::uint64_t prime_3 = 0x165667B19E3779F9ULL;
constexpr std::uint64_t prime_4 = 0x85EBCA77C2B2AE63ULL;
constexpr std::uint64_t prime_5 = 0x27D4EB2F165667C5ULL;

template <typename WordT>
[[nodiscard]] WordT load(const std::byte* from) noexcept {
  WordT word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

[[nodiscard]] constexpr std::uint64_t round(std::uint64_t lane, std::uint64_t input) noexcept {
  return std::rotl(lane + input * prime_2, 31) * prime_1;
}

[[nodiscard]] constexpr std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) noexcept {
  return (hash ^ round(0, lane)) * prime_1 + prime_4;
}

/// Consumes all whole stripes of 32 bytes and returns the merged lanes.
[[nodiscard]] std::uint64_t hash_stripes(const std::byte*& at, const std::byte* end) noexcept {
  std::array<std::uint64_t, 4> lane{prime_1 + prime_2, prime_2, 0, 0 - prime_1};
  for (; end - at >= 32; at += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      lane[i] = round(lane[i], load<std::uint64_t>(at + 8 * i));
    }
  }
  std::uint64_t hash =
      std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) + std::rotl(lane[3], 18);
  for (const std::uint64_t value : lane) {
    hash = merge(hash, value);
  }
  return hash;
}

}  // namespace

std::uint64_t checksum64(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  std::uint64_t hash = bytes.size() >= 32 ? hash_stripes(at, end) : prime_5;
  hash += bytes.size();
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(at)), 27) * prime_1 + prime_4;
  }
  if (end - at >= 4) {
    hash = std::rotl(hash ^ (load<std::uint32_t>(at) * prime_1), 23) * prime_2 + prime_3;
    at += 4;
  }
  for (; at != end; ++at) {
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(*at) * prime_5), 11) * prime_1;
  }
  hash = (hash ^ (hash >> 33)) * prime_2;
  hash = (hash ^ (hash >> 29)) * prime_3;
  return hash ^ (hash >> 32);
}

digest128 blake2b_128(std::span<const std::byte> bytes) noexcept {
  digest128 digest{};
  crypto_generichash_blake2b(digest.data(), digest.size(),
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return digest;
}

}  // namespace halocline::io
