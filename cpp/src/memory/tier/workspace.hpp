// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "memory/tier/extent_list.hpp"

namespace halocline::memory {

/// End of the addresses at which a frame is placed.
enum class side : unsigned char { low, high };

/// Addresses for frames that come and go quickly. There are more of them than pages, so that a frame finds a
/// free range of any size however full the fast tier is. Pages stay when a frame is freed, and the next one
/// is placed where pages are: at the first such place from one of the two ends. A program that makes
/// temporaries in the same order again gets the same pages for them, and those are still in the caches.
class workspace {
 public:
  using range = std::pair<std::uint64_t, std::uint64_t>;  ///< address, bytes

  workspace() = default;
  ~workspace();
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;

  /// A free range; what of it has no pages is appended to `bare`. Nothing when the system has no addresses.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes, side from, std::vector<range>& bare);
  /// Takes a range back with its pages.
  void give(std::uint64_t at, std::uint64_t bytes) noexcept;
  /// Takes a range back whose pages are gone.
  void give_bare(std::uint64_t at, std::uint64_t bytes) noexcept;
  /// Free pages, at most `bytes` bytes and a multiple of `unit`; their addresses stay free. Nothing when
  /// there are not that many in one piece.
  [[nodiscard]] std::optional<range> take_pages(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return pages_.take_last(bytes, unit);
  }
  [[nodiscard]] bool contains(std::uint64_t at) const noexcept;
  /// Bytes of free pages.
  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return pages_.total(); }

 private:
  [[nodiscard]] std::optional<std::uint64_t> find_pages(std::uint64_t bytes, side from) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> find_room(std::uint64_t bytes, side from) const noexcept;
  [[nodiscard]] bool extend(std::uint64_t bytes);
  void carve(std::uint64_t at, std::uint64_t bytes, std::vector<range>& bare);

  std::vector<range> areas_;  ///< what was reserved
  extent_list room_;          ///< free addresses
  extent_list pages_;         ///< those of them that have pages
};

}  // namespace halocline::memory
