// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halocline::seal_format {

/// BLAKE2b (RFC 7693) of `in`, `out.size()` bytes from 1 to 64, without a key.
void blake2b(std::span<std::uint8_t> out, std::span<const std::uint8_t> in);

/// BLAKE2Xb, the extendable output of BLAKE2b (Aumasson, Neves, Wilcox-O'Hearn, Winnerlein, "BLAKE2X", 2016,
/// section 2): `out.size()` bytes, with a key of up to 64 bytes.
void blake2xb(std::span<std::uint8_t> out, std::span<const std::uint8_t> in,
              std::span<const std::uint8_t> key);

}  // namespace halocline::seal_format
