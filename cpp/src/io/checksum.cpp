// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/checksum.hpp"

#include <sodium.h>
#include <xxhash.h>

#include <bit>

namespace halocline::io {

static_assert(std::endian::native == std::endian::little,
              "container files are little endian and read in place");

std::uint64_t checksum64(std::span<const std::byte> bytes) noexcept {
  return XXH64(bytes.data(), bytes.size(), 0);
}

digest128 blake2b_128(std::span<const std::byte> bytes) noexcept {
  digest128 digest{};
  crypto_generichash_blake2b(digest.data(), digest.size(),
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return digest;
}

}  // namespace halocline::io
