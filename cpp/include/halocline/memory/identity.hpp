// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline::memory {

/// Number of an object that is the same in every process: FNV-1a of what it is, never 0. Plans find buffers
/// by it (`runtime::set_identity`).
/// @param kind a short constant text; the numbers tell objects of one kind apart
[[nodiscard]] std::uint64_t identity_of(const char* kind, std::uint64_t first, std::uint64_t second,
                                        std::uint64_t third = 0) noexcept;

}  // namespace halocline::memory
