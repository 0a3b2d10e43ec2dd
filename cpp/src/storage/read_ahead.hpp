// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "halocline/core/process.hpp"
#include "halocline/io/byte_source.hpp"
#include "halocline/storage/object_store.hpp"

namespace halocline::storage {

/// Parts of an object that threads fetch before they are read, so that a reader works on some while the next
/// ones are on their way. Two sets of parts are kept at a time, and are fetched one after the other. Memory
/// is used again: pages that are new cost as much time as receiving them. Thread-safe; a forked child does
/// not see what its parent fetches.
class read_ahead {
 public:
  using fetcher = std::function<void(std::span<const range_read>, const std::stop_token&)>;

  explicit read_ahead(fetcher fetch);
  ~read_ahead();
  read_ahead(const read_ahead&) = delete;
  read_ahead& operator=(const read_ahead&) = delete;

  /// Begins to fetch parts, unless just these are there or on their way. The older of two other sets is
  /// dropped.
  /// @param parts ascending, without overlap
  void begin(const std::vector<io::byte_range>& parts);
  /// Copies a range that lies in one of the parts, and waits for it; false when it lies in none.
  /// @throws what the fetch threw
  [[nodiscard]] bool copy(std::uint64_t offset, std::span<std::byte> dst);
  /// Drops what `begin` of just these parts fetches.
  void forget(const std::vector<io::byte_range>& parts);

 private:
  struct batch;
  class dropping;
  using batches = std::vector<std::shared_ptr<batch>>;

  void drop_foreign();
  [[nodiscard]] std::shared_ptr<batch> find(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::vector<std::byte> room(std::uint64_t bytes);

  fetcher fetch_;
  fork_mutex mutex_{fork_order::store};
  batches batches_;  ///< oldest first
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace halocline::storage
