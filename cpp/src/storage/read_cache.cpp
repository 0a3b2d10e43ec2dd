// SPDX-License-Identifier: Apache-2.0
#include "halocline/storage/read_cache.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/storage/manifest.hpp"

namespace halocline::storage {

std::shared_ptr<cached_object> read_cache::attach(std::shared_ptr<const io::byte_source> source) {
  return std::make_shared<cached_object>(shared_from_this(), std::move(source));
}

read_cache_counts read_cache::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

bool read_cache::make_room(std::uint64_t bytes, const cached_object& asking) {
  const auto is_victim = [&](const cached_object& each) { return &each != &asking && each.pins_ == 0; };
  std::uint64_t evictable = 0;
  for (const cached_object* each : by_use_) {
    if (is_victim(*each)) evictable += each->held_;
  }
  if (bytes > limit_ || counts_.held_bytes - evictable > limit_ - bytes) return false;
  for (cached_object* each : by_use_) {
    while (is_victim(*each) && each->held_ > 0 && counts_.held_bytes > limit_ - bytes) {
      counts_.evicted_bytes += each->evict_last();
    }
  }
  return true;
}

cached_object::cached_object(std::shared_ptr<read_cache> cache, std::shared_ptr<const io::byte_source> source)
    : cache_(std::move(cache)),
      source_(std::move(source)),
      fork_hook_(fork_order::context,
                 {[](fork_deadline) { return true; }, [] {}, [this](bool) { renew_in_child(fetching_); }}) {
  const std::scoped_lock lock(cache_->mutex_);
  place_ = cache_->by_use_.insert(cache_->by_use_.end(), this);
}

cached_object::~cached_object() {
  const std::scoped_lock lock(cache_->mutex_);
  cache_->counts_.held_bytes -= held_;
  cache_->by_use_.erase(place_);
}

void cached_object::read(std::uint64_t offset, std::span<std::byte> dst) const {
  HALOCLINE_EXPECTS(offset <= bytes() && dst.size() <= bytes() - offset, invalid_argument,
                    "cannot read bytes [", offset, ", ", offset + dst.size(), ") of ", name(), ": it has ",
                    bytes());
  if (dst.empty()) return;
  const io::byte_range range{offset, dst.size()};
  for (const auto& [begin, each] : cover({&range, 1}, false)) {
    const std::uint64_t from = std::max(offset, begin);
    const std::uint64_t to = std::min(offset + dst.size(), begin + each.bytes);
    std::memcpy(dst.data() + (from - offset), each.data.get() + (from - begin), to - from);
  }
  const std::scoped_lock lock(cache_->mutex_);
  cache_->counts_.given_bytes += dst.size();
}

void cached_object::prefetch(std::span<const io::byte_range> parts) const { (void)cover(parts, true); }

void cached_object::forget(std::span<const io::byte_range> parts) const {
  const std::scoped_lock lock(cache_->mutex_);
  std::erase_if(parts_, [&](const auto& held) {
    const auto& [offset, each] = held;
    return each.is_loose && std::ranges::any_of(parts, [&, begin = offset, end = offset + each.bytes](
                                                           const io::byte_range& part) {
             return part.offset < end && part.offset + part.bytes > begin;
           });
  });
}

std::uint64_t cached_object::held_bytes() const {
  const std::scoped_lock lock(cache_->mutex_);
  return held_;
}

void cached_object::pin() const {
  const std::scoped_lock lock(cache_->mutex_);
  ++pins_;
}

void cached_object::unpin() const {
  const std::scoped_lock lock(cache_->mutex_);
  HALOCLINE_EXPECTS(pins_ > 0, invalid_argument, "unpin: ", name(), " is not pinned");
  --pins_;
}

void cached_object::drop() const {
  const std::scoped_lock lock(cache_->mutex_);
  parts_.clear();
  cache_->counts_.held_bytes -= std::exchange(held_, 0);
}

cached_object::part_map cached_object::cover(std::span<const io::byte_range> ranges, bool loose) const {
  part_map found = find(ranges);
  if (gaps(ranges, found).empty()) return found;
  const std::scoped_lock lock(fetching_);
  found = find(ranges);  // another thread may have fetched them meanwhile
  found.merge(fetch(gaps(ranges, found), loose));
  return found;
}

cached_object::part_map cached_object::find(std::span<const io::byte_range> ranges) const {
  part_map found;
  const std::scoped_lock lock(cache_->mutex_);
  cache_->by_use_.splice(cache_->by_use_.end(), cache_->by_use_, place_);
  for (const io::byte_range& each : ranges) {
    auto at = parts_.upper_bound(each.offset);
    if (at != parts_.begin()) --at;
    for (; at != parts_.end() && at->first < each.offset + each.bytes; ++at) {
      if (at->first + at->second.bytes > each.offset) found.insert(*at);
    }
  }
  return found;
}

std::vector<io::byte_range> cached_object::gaps(std::span<const io::byte_range> ranges,
                                                const part_map& parts) const {
  std::vector<io::byte_range> wanted(ranges.begin(), ranges.end());
  std::ranges::sort(wanted, {}, &io::byte_range::offset);
  std::vector<io::byte_range> out;
  std::uint64_t done = 0;  // everything before it is held or in `out`
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    if (!out.empty() && out.back().offset + out.back().bytes == begin) {
      out.back().bytes += end - begin;
    } else {
      out.push_back({begin, end - begin});
    }
  };
  for (const io::byte_range& each : wanted) {
    if (each.bytes == 0) continue;
    constexpr std::uint64_t block = manifest::block_bytes;
    std::uint64_t at = std::max(done, each.offset / block * block);
    const std::uint64_t end = std::min(bytes(), (each.offset + each.bytes + block - 1) / block * block);
    auto part = parts.upper_bound(at);
    if (part != parts.begin()) --part;
    for (; part != parts.end() && part->first < end; ++part) {
      add(at, part->first);
      at = std::max(at, part->first + part->second.bytes);
    }
    add(at, end);
    done = std::max(done, std::max(at, end));
  }
  return out;
}

cached_object::part_map cached_object::fetch(std::span<const io::byte_range> gaps, bool loose) const {
  part_map out;
  if (gaps.empty()) return out;
  source_->prefetch(gaps);  // all at once
  for (const io::byte_range& each : gaps) {
    std::shared_ptr<std::byte[]> data(new std::byte[each.bytes]);  // not zeroed: every byte is read
    source_->read(each.offset, {data.get(), each.bytes});
    out.emplace(each.offset, part{each.bytes, std::move(data)});
  }
  source_->forget(gaps);
  const std::scoped_lock lock(cache_->mutex_);
  for (auto& [offset, each] : out) {
    cache_->counts_.fetched_bytes += each.bytes;
    const bool fits = cache_->make_room(each.bytes, *this);
    if (!fits && !loose) continue;
    each.is_loose = !fits;
    parts_.emplace(offset, each);
    if (!fits) continue;
    held_ += each.bytes;
    cache_->counts_.held_bytes += each.bytes;
  }
  return out;
}

std::uint64_t cached_object::evict_last() const {
  for (auto at = parts_.end(); at != parts_.begin();) {
    --at;
    if (at->second.is_loose) continue;
    const std::uint64_t bytes = at->second.bytes;
    parts_.erase(at);
    held_ -= bytes;
    cache_->counts_.held_bytes -= bytes;
    return bytes;
  }
  return 0;
}

}  // namespace halocline::storage
