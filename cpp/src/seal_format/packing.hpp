// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/seal_format/write.hpp"

namespace halocline::seal_format {

/// Packs bytes. @throws device_error when this build lacks the compression
[[nodiscard]] std::vector<std::byte> pack(std::span<const std::byte> bytes, compression how);

/// Unpacks bytes, all of which must be one stream.
/// @throws corrupt_data for a damaged stream, or one of more than `most` bytes, of which no more are ever
/// there
[[nodiscard]] std::vector<std::byte> unpack(std::span<const std::byte> bytes, compression how,
                                            std::uint64_t most);

}  // namespace halocline::seal_format
