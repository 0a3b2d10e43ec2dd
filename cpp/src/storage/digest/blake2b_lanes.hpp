// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halocline::storage::digest {

using bytes32 = std::array<std::uint8_t, 32>;

/// BLAKE2b-256 with a key (RFC 7693).
[[nodiscard]] bytes32 blake2b_keyed(const bytes32& key, std::span<const std::byte> message) noexcept;

/// The same of messages of one length that follow each other: SIMD lanes compute
/// several at once, so that a core does as many at a time as its registers hold.
/// @param messages out.size() messages of `length` bytes
/// @param length bytes of each; a positive multiple of 128
/// @param out their digests
void blake2b_keyed(const bytes32& key, std::span<const std::byte> messages, std::size_t length,
                   std::span<bytes32> out) noexcept;

/// Messages that are computed at once on this processor; 1 without SIMD.
[[nodiscard]] std::size_t blake2b_lanes() noexcept;

}  // namespace halocline::storage::digest
