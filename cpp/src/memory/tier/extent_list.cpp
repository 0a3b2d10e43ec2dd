// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/extent_list.hpp"

#include <iterator>

namespace halocline::memory {

std::optional<std::uint64_t> extent_list::take(std::uint64_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [size, offset] = *found;
  erase(by_offset_.find(offset));
  if (size > bytes) insert(offset + bytes, size - bytes);
  return offset;
}

void extent_list::give(std::uint64_t offset, std::uint64_t bytes) {
  const auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      erase(before);
    }
  }
  if (next != by_offset_.end() && next->first == offset + bytes) {
    bytes += next->second;
    erase(next);
  }
  insert(offset, bytes);
}

std::uint64_t extent_list::bytes_before(std::uint64_t end) const noexcept {
  const auto next = by_offset_.lower_bound(end);
  if (next == by_offset_.begin()) return 0;
  const auto last = std::prev(next);
  return last->first + last->second == end ? last->second : 0;
}

void extent_list::insert(std::uint64_t offset, std::uint64_t bytes) {
  by_offset_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
  total_ += bytes;
}

void extent_list::erase(std::map<std::uint64_t, std::uint64_t>::iterator part) {
  by_size_.erase({part->second, part->first});
  total_ -= part->second;
  by_offset_.erase(part);
}

}  // namespace halocline::memory
