// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace halocline::memory {

/// Unit of frames and slots, and what direct I/O asks for in address, offset and size. Bytes.
inline constexpr std::size_t page_bytes = 4096;

/// The next multiple of the page size.
[[nodiscard]] constexpr std::size_t round_to_pages(std::size_t bytes) noexcept {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// A mapping of its own for `bytes` bytes, a multiple of the page size; nullptr when the system gives none.
/// From 2 MiB on it begins at a huge page, and the kernel is asked to use huge pages.
[[nodiscard]] std::byte* map_pages(std::size_t bytes) noexcept;

/// Makes a mapping smaller or larger, moving it if need be; what was in it stays. nullptr, and nothing has
/// changed, when the system cannot.
[[nodiscard]] std::byte* remap_pages(void* data, std::size_t bytes, std::size_t new_bytes) noexcept;

/// Gives a whole mapping back to the system.
void unmap_pages(void* data, std::size_t bytes) noexcept;

}  // namespace halocline::memory
