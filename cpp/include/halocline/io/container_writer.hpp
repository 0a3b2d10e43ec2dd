// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "halocline/io/atomic_file.hpp"
#include "halocline/io/container.hpp"

namespace halocline::io {

class byte_sink;

/// Writes one container section by section; memory use is one block, however large the container. A container
/// file appears under its name only when `finish` has returned (see `atomic_file`); destruction without
/// `finish` leaves nothing behind. Not thread-safe.
class container_writer {
 public:
  /// Writes to a file.
  /// @throws io_error when the file cannot be created.
  container_writer(const std::filesystem::path& path, object_kind kind, const fingerprint& parameters,
                   file_privacy privacy = file_privacy::shared);
  /// Writes to a vector, which must be empty and must outlive the writer.
  container_writer(std::vector<std::byte>& out, object_kind kind, const fingerprint& parameters);
  ~container_writer();
  container_writer(const container_writer&) = delete;
  container_writer& operator=(const container_writer&) = delete;

  /// Names the secret key that the object belongs to, in the header; until then it is unknown. Any time
  /// before `finish`.
  /// @throws invalid_argument for a known key in a container of a kind that depends on none
  void set_key(const ckks::key_id& key);
  /// Hint that about so many bytes follow, so that a large vector is not copied while it grows.
  void reserve(std::uint64_t bytes);
  /// Begins a section, whose bytes follow in any number of `append` calls.
  /// @throws invalid_argument when a section is open or the name was used before.
  void begin_section(const section_id& id);
  /// Adds bytes to the open section.
  /// @throws invalid_argument when no section is open; io_error when the disk is full.
  void append(std::span<const std::byte> bytes);
  /// @throws invalid_argument when no section is open or it is empty.
  void end_section();
  /// The three calls above at once.
  void add_section(const section_id& id, std::span<const std::byte> bytes);
  /// Writes directory and header and makes the container visible. Call once, last.
  /// @throws invalid_argument when a section is open; io_error as `atomic_file::commit`.
  void finish();

 private:
  container_writer(std::unique_ptr<byte_sink> sink, object_kind kind, const fingerprint& parameters);
  /// Writes and checksums blocks, of which only the last one of a section may be short.
  void write_blocks(std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> directory() const;

  std::unique_ptr<byte_sink> sink_;
  object_kind kind_;
  fingerprint parameters_;
  ckks::key_id key_{};
  std::vector<section> sections_;
  std::set<section_id> used_;
  std::vector<std::uint64_t> checksums_;
  std::vector<std::byte> pending_;  ///< start of the block that is not full yet
  bool open_ = false;
  bool finished_ = false;
};

}  // namespace halocline::io
