// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "halocline/io/byte_source.hpp"
#include "halocline/storage/manifest.hpp"
#include "halocline/storage/object_store.hpp"
#include "read_ahead.hpp"

namespace halocline::storage {

/// The container of a manifest in a store. It gives bytes only after the blocks that they lie in were
/// compared with the manifest; digests are computed by threads of their own while other parts are on their
/// way.
class verified_object final : public io::byte_source {
 public:
  verified_object(std::shared_ptr<object_store> objects, manifest of, const store_options& options);

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return of_.bytes; }
  [[nodiscard]] std::string name() const override;
  void read(std::uint64_t offset, std::span<std::byte> dst) const override;
  void prefetch(std::span<const io::byte_range> parts) const override;
  void forget(std::span<const io::byte_range> parts) const override;
  /// Fetches and compares everything, and keeps nothing.
  /// @throws what `read` throws
  void check_all() const;

 private:
  /// The blocks that a range touches.
  [[nodiscard]] io::byte_range whole_blocks(const io::byte_range& part) const;
  /// The blocks that ranges touch, ascending and without overlap.
  [[nodiscard]] std::vector<io::byte_range> joined_blocks(std::span<const io::byte_range> parts) const;
  /// Fetches whole blocks and verifies them.
  void fetch(std::span<const range_read> parts, const std::stop_token& stop = {}) const;
  /// `read` of a range that begins or ends within a block, and has at least two: only the blocks at its ends
  /// are copied.
  void read_in_place(const io::byte_range& blocks, std::uint64_t offset, std::span<std::byte> dst) const;
  /// Parts for one request each: enough of them for all connections.
  [[nodiscard]] std::vector<range_read> split(std::span<const range_read> parts) const;
  /// Parts of a read whose digests are not those of the manifest.
  [[nodiscard]] std::vector<range_read> fetch_once(std::span<const range_read> parts,
                                                   const std::stop_token& stop) const;
  [[nodiscard]] bool is_right(const range_read& part) const noexcept;

  std::shared_ptr<object_store> objects_;
  manifest of_;
  block_digester digest_;
  std::string object_;
  std::size_t part_bytes_;
  std::size_t connections_;
  mutable read_ahead ahead_;  ///< last: its threads use the others
};

}  // namespace halocline::storage
