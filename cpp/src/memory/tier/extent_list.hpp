// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace halocline::memory {

/// Unused parts of a file or of an address space. Best fit: a request takes the begin of the smallest part
/// that is large enough, of several the first in the file. Neighbours are joined when a part comes back, so
/// parts never touch.
class extent_list {
 public:
  /// Takes `bytes` (not 0) bytes; their offset, or nothing when no part is large enough.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) noexcept;
  /// Takes `bytes` bytes from `offset` on. False: no part begins there that is large enough.
  [[nodiscard]] bool take_at(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// Takes the largest part of at most `bytes` (a multiple of `unit`) bytes, or so many bytes of the smallest
  /// part, rounded down to a multiple of `unit`; their offset and number, nothing when all parts are smaller
  /// than that.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> take_up_to(
      std::uint64_t bytes, std::uint64_t unit = 1) noexcept;
  /// The same of the last part that is large enough, from its end.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> take_last(
      std::uint64_t bytes, std::uint64_t unit = 1) noexcept;
  /// Takes what parts have of [offset, offset + bytes).
  void remove(std::uint64_t offset, std::uint64_t bytes);
  /// Bytes that parts have of [offset, offset + bytes).
  [[nodiscard]] std::uint64_t bytes_in(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Adds [offset, offset + bytes), which must not overlap a part.
  void give(std::uint64_t offset, std::uint64_t bytes);
  /// Bytes of the part that ends at `end`; 0 when none does.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t end) const noexcept;
  /// Bytes of the largest part.
  [[nodiscard]] std::uint64_t largest() const noexcept {
    return by_size_.empty() ? 0 : by_size_.rbegin()->first;
  }
  /// Bytes of all parts.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// Bytes by offset.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& list() const noexcept { return by_offset_; }
  [[nodiscard]] std::size_t parts() const noexcept { return by_offset_.size(); }

 private:
  void insert(std::uint64_t offset, std::uint64_t bytes);
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator part);
  void take_front(std::map<std::uint64_t, std::uint64_t>::iterator part, std::uint64_t bytes) noexcept;
  void take_back(std::map<std::uint64_t, std::uint64_t>::iterator part, std::uint64_t bytes) noexcept;

  std::map<std::uint64_t, std::uint64_t> by_offset_;  // offset -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
  std::uint64_t total_ = 0;
};

}  // namespace halocline::memory
