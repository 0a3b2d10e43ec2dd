// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halocline::io {

/// 64-bit checksum XXH64 with seed 0 (Y. Collet, xxHash specification 0.1.1, section "XXH64"; computed by the
/// xxHash library). It guards the bulk of a file against accidents: it runs at memory speed without SIMD,
/// several times as fast as a cryptographic hash, and misses a random corruption with probability 2^-64. It
/// is no defence against forgery; the loaders validate contents for that.
[[nodiscard]] std::uint64_t checksum64(std::span<const std::byte> bytes) noexcept;

/// 16-byte digest of headers and directories.
using digest128 = std::array<std::uint8_t, 16>;

/// BLAKE2b with 16 bytes of output and no key (RFC 7693).
[[nodiscard]] digest128 blake2b_128(std::span<const std::byte> bytes) noexcept;

}  // namespace halocline::io
