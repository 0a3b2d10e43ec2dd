// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "halocline/io/byte_source.hpp"
#include "halocline/storage/manifest.hpp"
#include "halocline/storage/object_store.hpp"

namespace halocline::storage {

/// The container of a manifest in a store. It gives bytes only after the blocks that they lie in were
/// compared with the manifest; digests are computed by threads of their own while other parts are on their
/// way.
class verified_object final : public io::byte_source {
 public:
  verified_object(std::shared_ptr<object_store> objects, manifest of, std::size_t part_bytes);

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return of_.bytes; }
  [[nodiscard]] std::string name() const override;
  void read(std::uint64_t offset, std::span<std::byte> dst) const override;
  void prefetch(std::span<const io::byte_range> parts) const override;
  void forget() const noexcept override;
  /// Fetches and compares everything, and keeps nothing.
  /// @throws what `read` throws
  void check_all() const;

 private:
  /// Whole blocks that were fetched and verified.
  struct piece {
    std::uint64_t offset = 0;
    std::unique_ptr<std::byte[]> data{};  // not zeroed: every byte is received
    std::uint64_t bytes = 0;
  };

  /// The blocks that a range touches.
  [[nodiscard]] io::byte_range whole_blocks(const io::byte_range& part) const;
  /// Fetches whole blocks and verifies them.
  void fetch(std::span<const range_read> parts) const;
  [[nodiscard]] std::vector<range_read> split(std::span<const range_read> parts) const;
  /// Parts of a read whose digests are not those of the manifest.
  [[nodiscard]] std::vector<range_read> fetch_once(std::span<const range_read> parts) const;
  [[nodiscard]] bool is_right(const range_read& part) const noexcept;

  std::shared_ptr<object_store> objects_;
  manifest of_;
  block_digester digest_;
  std::string object_;
  std::size_t part_bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<piece> fetched_;  ///< by `prefetch`, ascending, disjoint
};

}  // namespace halocline::storage
