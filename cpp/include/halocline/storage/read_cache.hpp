// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "halocline/core/process.hpp"
#include "halocline/io/byte_source.hpp"

namespace halocline::storage {

class cached_object;

/// What a cache has done so far, in bytes.
struct read_cache_counts {
  std::uint64_t held_bytes = 0;     ///< in memory now
  std::uint64_t fetched_bytes = 0;  ///< read from sources
  std::uint64_t given_bytes = 0;    ///< that readers asked for
  std::uint64_t evicted_bytes = 0;  ///< dropped for others
};

/// Memory for parts of containers, such as the keys of many users, as they are stored. Several readers may
/// share it. When it is full, parts of the object that was used least recently go first, those at its end
/// before those at its beginning; objects that are pinned keep all parts. What finds no room is given to the
/// reader and not kept, so the limit always holds. Thread-safe.
class read_cache : public std::enable_shared_from_this<read_cache> {
 public:
  /// @param limit_bytes that parts may take
  explicit read_cache(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  /// The source, read through this cache. Its parts are dropped with the result.
  /// @param source gives verified bytes
  [[nodiscard]] std::shared_ptr<cached_object> attach(std::shared_ptr<const io::byte_source> source);

  /// Bytes that parts may take.
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  /// What it has done so far.
  [[nodiscard]] read_cache_counts counts() const;

 private:
  friend class cached_object;

  /// Evicts parts of others until so many bytes are free; false, and nothing is evicted, where that cannot
  /// be.
  [[nodiscard]] bool make_room(std::uint64_t bytes, const cached_object& asking);

  std::uint64_t limit_;
  mutable fork_mutex mutex_{fork_order::store};  ///< of everything here and of the parts of all objects
  read_cache_counts counts_;
  std::list<cached_object*> by_use_;  ///< least recently used first
};

/// A container that is read through a cache. Made by `read_cache::attach`.
class cached_object final : public io::byte_source {
 public:
  /// Use `read_cache::attach`.
  cached_object(std::shared_ptr<read_cache> cache, std::shared_ptr<const io::byte_source> source);
  ~cached_object() override;
  cached_object(const cached_object&) = delete;
  cached_object& operator=(const cached_object&) = delete;

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return source_->bytes(); }
  [[nodiscard]] std::string name() const override { return source_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override;
  /// Fetches what is not held. What finds no room in the cache is kept until `forget`.
  void prefetch(std::span<const io::byte_range> parts) const override;
  void forget(std::span<const io::byte_range> parts) const override;

  /// Bytes of it that the cache holds.
  [[nodiscard]] std::uint64_t held_bytes() const;
  /// While it is pinned, once or more, nothing of it is evicted.
  void pin() const;
  void unpin() const;
  /// Drops what the cache holds of it.
  void drop() const;

 private:
  friend class read_cache;

  struct part {
    std::uint64_t bytes = 0;
    std::shared_ptr<const std::byte[]> data;
    bool is_loose = false;  ///< not counted: it found no room
  };
  using part_map = std::map<std::uint64_t, part>;  ///< by offset; disjoint whole blocks

  /// The parts that overlap these ranges.
  [[nodiscard]] part_map find(std::span<const io::byte_range> ranges) const;
  /// What of these ranges is in none of the parts, as disjoint whole blocks.
  [[nodiscard]] std::vector<io::byte_range> gaps(std::span<const io::byte_range> ranges,
                                                 const part_map& parts) const;
  /// Reads gaps from the source and keeps them where there is room.
  /// @param loose keeps the others too, until `forget`
  [[nodiscard]] part_map fetch(std::span<const io::byte_range> gaps, bool loose) const;
  /// The parts of these ranges, fetched where they are missing.
  [[nodiscard]] part_map cover(std::span<const io::byte_range> ranges, bool loose) const;
  /// Drops the part with the highest offset. @returns its bytes
  std::uint64_t evict_last() const;

  std::shared_ptr<read_cache> cache_;
  std::shared_ptr<const io::byte_source> source_;
  mutable std::mutex fetching_;  ///< of reads of the source, so that none is done twice
  // Under the mutex of the cache:
  mutable part_map parts_;
  mutable std::uint64_t held_ = 0;
  mutable unsigned pins_ = 0;
  std::list<cached_object*>::iterator place_;
  fork_hook fork_hook_;  ///< a fork does not wait for reads over a network: the child reads for itself
};

}  // namespace halocline::storage
