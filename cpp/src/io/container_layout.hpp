// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/io/checksum.hpp"

/// Positions within the header page, shared by writer and reader only. Numbers are little endian; bytes that
/// no field covers are zero, up to the end of the page.
namespace halocline::io::layout {

inline constexpr std::size_t magic = 0;              // 8 bytes
inline constexpr std::size_t version = 8;            // u32
inline constexpr std::size_t kind = 12;              // u32
inline constexpr std::size_t parameters = 16;        // 16 bytes
inline constexpr std::size_t file_bytes = 32;        // u64
inline constexpr std::size_t directory_offset = 40;  // u64
inline constexpr std::size_t directory_bytes = 48;   // u64
inline constexpr std::size_t section_count = 56;     // u32
inline constexpr std::size_t block_size = 60;        // u32
inline constexpr std::size_t key = 64;               // 16 bytes; zero in version 1
inline constexpr std::size_t reserved = 80;          // 16 bytes, zero
inline constexpr std::size_t directory_digest = 96;  // 16 bytes
inline constexpr std::size_t header_digest = 112;    // 16 bytes, of everything before it

}  // namespace halocline::io::layout
