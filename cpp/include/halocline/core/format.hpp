// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halocline {

/// Formats a byte count with binary units: 1536 is "1.5 KiB".
[[nodiscard]] std::string format_bytes(std::size_t bytes);

/// The same rounded up, for a size that must suffice when it is typed: 18,665,000 bytes are "17.9 MiB".
[[nodiscard]] std::string format_bytes_up(std::size_t bytes);

/// Parses "2GiB", "512 MiB", "1.5GB", "4096" (bytes) into bytes.
/// Binary (KiB, MiB, GiB, TiB) and decimal (KB, MB, GB, TB) units; case-insensitive.
/// @throws invalid_argument when the text is not a positive size.
[[nodiscard]] std::size_t parse_bytes(std::string_view text);

}  // namespace halocline
