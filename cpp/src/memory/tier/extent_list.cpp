// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/extent_list.hpp"

#include <algorithm>
#include <iterator>

namespace halocline::memory {

std::optional<std::uint64_t> extent_list::take(std::uint64_t bytes) noexcept {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return std::nullopt;
  const std::uint64_t offset = found->second;
  take_front(by_offset_.find(offset), bytes);
  return offset;
}

bool extent_list::take_at(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const auto found = by_offset_.find(offset);
  if (found == by_offset_.end() || found->second < bytes) return false;
  take_front(found, bytes);
  return true;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> extent_list::take_up_to(std::uint64_t bytes,
                                                                               std::uint64_t unit) noexcept {
  if (by_size_.empty() || largest() < unit) return std::nullopt;
  auto found = by_size_.upper_bound({bytes, ~std::uint64_t{0}});
  if (found != by_size_.begin() && (found == by_size_.end() || std::prev(found)->first >= unit)) --found;
  const auto [size, offset] = *found;
  const std::uint64_t taken = std::min(size, bytes) / unit * unit;
  take_front(by_offset_.find(offset), taken);
  return std::pair{offset, taken};
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> extent_list::take_last(std::uint64_t bytes,
                                                                              std::uint64_t unit) noexcept {
  if (by_size_.empty() || largest() < unit) return std::nullopt;
  auto last = std::prev(by_offset_.end());
  while (last->second < unit) --last;
  const std::uint64_t end = last->first + last->second;
  const std::uint64_t taken = std::min(last->second, bytes) / unit * unit;
  take_back(last, taken);
  return std::pair{end - taken, taken};
}

void extent_list::remove(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = offset + bytes;
  auto each = by_offset_.lower_bound(offset);
  if (each != by_offset_.begin()) --each;
  while (each != by_offset_.end() && each->first < end) {
    const auto part = each++;
    const std::uint64_t part_end = part->first + part->second;
    if (part_end <= offset) continue;
    if (part->first >= offset) {
      take_front(part, std::min(part_end, end) - part->first);
      continue;
    }
    if (part_end > end) insert(end, part_end - end);
    take_back(part, part_end - offset);
    if (part_end > end) return;
  }
}

std::uint64_t extent_list::bytes_in(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const std::uint64_t end = offset + bytes;
  std::uint64_t result = 0;
  auto each = by_offset_.lower_bound(offset);
  if (each != by_offset_.begin()) --each;
  for (; each != by_offset_.end() && each->first < end; ++each) {
    const std::uint64_t from = std::max(each->first, offset);
    const std::uint64_t to = std::min(each->first + each->second, end);
    if (from < to) result += to - from;
  }
  return result;
}

/// Takes the begin of a part, or all of it. Needs no memory: what is left keeps the entries of the part.
void extent_list::take_front(std::map<std::uint64_t, std::uint64_t>::iterator part,
                             std::uint64_t bytes) noexcept {
  if (part->second == bytes) return erase(part);
  auto by_size = by_size_.extract({part->second, part->first});
  auto by_offset = by_offset_.extract(part);
  by_offset.key() += bytes;
  by_offset.mapped() -= bytes;
  by_size.value() = {by_offset.mapped(), by_offset.key()};
  by_offset_.insert(std::move(by_offset));
  by_size_.insert(std::move(by_size));
  total_ -= bytes;
}

/// The same at the end of a part.
void extent_list::take_back(std::map<std::uint64_t, std::uint64_t>::iterator part,
                            std::uint64_t bytes) noexcept {
  if (part->second == bytes) return erase(part);
  auto by_size = by_size_.extract({part->second, part->first});
  part->second -= bytes;
  by_size.value().first = part->second;
  by_size_.insert(std::move(by_size));
  total_ -= bytes;
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
