// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/workspace.hpp"

#include <algorithm>

#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

/// Addresses are taken from the system in portions of this size or larger ones.
constexpr std::uint64_t area_bytes = std::uint64_t{256} << 20;

}  // namespace

workspace::~workspace() {
  for (const range& each : areas_) unmap_pages(reinterpret_cast<void*>(each.first), each.second);
}

std::optional<std::uint64_t> workspace::take(std::uint64_t bytes, side from, std::vector<range>& bare) {
  auto at = find_pages(bytes, from);
  if (!at) at = find_room(bytes, from);
  if (!at && extend(bytes)) at = find_room(bytes, from);
  if (at) carve(*at, bytes, bare);
  return at;
}

void workspace::give(std::uint64_t at, std::uint64_t bytes) noexcept {
  try {
    pages_.give(at, bytes);
  } catch (...) {  // no memory to note them in
    empty_workspace(reinterpret_cast<void*>(at), bytes);
  }
  give_bare(at, bytes);
}

void workspace::give_bare(std::uint64_t at, std::uint64_t bytes) noexcept {
  try {
    room_.give(at, bytes);
  } catch (...) {  // these addresses are not used again
  }
}

bool workspace::contains(std::uint64_t at) const noexcept {
  return std::any_of(areas_.begin(), areas_.end(),
                     [at](const range& each) { return at - each.first < each.second; });
}

std::optional<std::uint64_t> workspace::find_pages(std::uint64_t bytes, side from) const noexcept {
  const auto fits = [bytes](const range& part) { return part.second >= bytes; };
  const auto& parts = pages_.list();
  if (from == side::low) {
    const auto found = std::find_if(parts.begin(), parts.end(), fits);
    return found == parts.end() ? std::nullopt : std::optional(found->first);
  }
  const auto found = std::find_if(parts.rbegin(), parts.rend(), fits);
  return found == parts.rend() ? std::nullopt : std::optional(found->first + found->second - bytes);
}

/// The place with the most pages; of several the first from that end.
std::optional<std::uint64_t> workspace::find_room(std::uint64_t bytes, side from) const noexcept {
  std::optional<std::uint64_t> best;
  std::uint64_t most = 0;  // bytes of pages there
  const auto consider = [&](std::uint64_t at) {
    const std::uint64_t there = pages_.bytes_in(at, bytes);
    if (best && (there < most || (there == most && (from == side::low) == (*best < at)))) return;
    best = at;
    most = there;
  };
  for (const auto& [begin, size] : room_.list()) {
    if (size < bytes) continue;
    const std::uint64_t last = begin + size - bytes;
    consider(from == side::low ? begin : last);
    for (auto part = pages_.list().lower_bound(begin);
         part != pages_.list().end() && part->first < begin + size; ++part) {
      const std::uint64_t end = part->first + part->second;
      consider(std::min(part->first, last));
      consider(std::max(end, begin + bytes) - bytes);
    }
  }
  return best;
}

/// Takes a range of free addresses; `bare` gets what of it has no pages.
void workspace::carve(std::uint64_t at, std::uint64_t bytes, std::vector<range>& bare) {
  const std::uint64_t end = at + bytes;
  std::uint64_t covered = at;
  for (const auto& [begin, size] : pages_.list()) {
    if (begin >= end) break;
    if (begin + size <= covered) continue;
    if (begin > covered) bare.emplace_back(covered, begin - covered);
    covered = begin + size;
  }
  if (covered < end) bare.emplace_back(covered, end - covered);
  room_.remove(at, bytes);
  pages_.remove(at, bytes);
}

/// Reserves more addresses, each time as many as there are already.
bool workspace::extend(std::uint64_t bytes) {
  std::uint64_t size = std::max(area_bytes, bytes);
  for (const range& each : areas_) size = std::max(size, each.second * 2);
  areas_.reserve(areas_.size() + 1);
  std::byte* const area = reserve_workspace(size);
  if (area == nullptr) return false;
  areas_.emplace_back(reinterpret_cast<std::uintptr_t>(area), size);
  room_.give(areas_.back().first, size);
  return true;
}

}  // namespace halocline::memory
