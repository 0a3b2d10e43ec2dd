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

/// Addresses for `bytes` bytes, which take no memory before they are touched or pages are moved there;
/// nullptr when the system gives none.
[[nodiscard]] std::byte* reserve_pages(std::size_t bytes) noexcept;

/// Moves pages with their contents to reserved addresses. Cheap within one mapping; what was mapped piece by
/// piece should be moved so too.
void move_pages(std::byte* from, std::byte* to, std::size_t bytes) noexcept;

/// Addresses of a workspace: they take no memory before they are touched or pages are moved there, and never
/// become huge pages, which would reach beyond what is touched. nullptr when the system gives none.
[[nodiscard]] std::byte* reserve_workspace(std::size_t bytes) noexcept;

/// Moves pages as `move_pages` does, and keeps the addresses where they were.
void lend_pages(std::byte* from, std::byte* to, std::size_t bytes) noexcept;

/// Gives pages of a workspace back to the system and keeps their addresses, as one mapping.
void empty_workspace(void* data, std::size_t bytes) noexcept;

/// Gives pages back to the system.
void unmap_pages(void* data, std::size_t bytes) noexcept;

}  // namespace halocline::memory
