// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halocline/io/byte_codec.hpp"
#include "halocline/io/byte_source.hpp"
#include "halocline/io/checksum.hpp"
#include "halocline/io/container.hpp"
#include "halocline/io/file_map.hpp"

namespace halocline::io {

/// Reads one container from a memory-mapped file, from bytes or from a source. Construction validates header
/// and directory completely (digests, sizes, order, alignment, counts) and allocates no more than the
/// directory's own size; contents are verified block by block when they are read. Move-only; const members
/// are thread-safe.
class container_reader {
 public:
  /// Maps a file.
  /// @throws io_error when it cannot be opened; corrupt_data when it is not a complete, valid container.
  [[nodiscard]] static container_reader open(const std::filesystem::path& path);
  /// Reads bytes that outlive the reader.
  /// @param name subject of the error messages.
  /// @throws corrupt_data when they are not a complete, valid container.
  [[nodiscard]] static container_reader over(std::span<const std::byte> bytes,
                                             std::string name = "byte string");
  /// Reads a source, part by part.
  /// @throws what the source throws; corrupt_data when it is not a complete, valid container.
  [[nodiscard]] static container_reader from(std::shared_ptr<const byte_source> source);

  /// Version of the format: 1, or `container_version`.
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  /// The secret key that the object belongs to; unknown in version 1.
  [[nodiscard]] const ckks::key_id& key() const noexcept { return key_; }
  /// What the container holds.
  [[nodiscard]] object_kind kind() const noexcept { return kind_; }
  /// Fingerprint of the parameters that it was made for.
  [[nodiscard]] const fingerprint& parameters() const noexcept { return parameters_; }
  /// Size of the container.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return size_; }
  /// What error messages call the container: "'keys.hlc'" or "byte string".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// All sections in file order.
  [[nodiscard]] std::span<const section> sections() const noexcept { return sections_; }

  /// @throws invalid_argument when the container holds something else; says what.
  void expect_kind(object_kind kind) const;
  /// @throws invalid_argument when the container was made for other parameters.
  void expect_parameters(const fingerprint& parameters) const;
  /// The section of that name, or nullptr.
  [[nodiscard]] const section* find(const section_id& id) const noexcept;
  /// @throws corrupt_data when there is no section of that name.
  [[nodiscard]] const section& at(const section_id& id) const;

  /// Copies bytes [offset, offset + dst.size()) of a section and verifies the copy: what lands in `dst` is
  /// what was written, even if the file changes meanwhile. Reads the blocks that the range touches and
  /// nothing else.
  /// @throws invalid_argument when the range is outside the section; corrupt_data when a checksum differs.
  void read(const section& from, std::uint64_t offset, std::span<std::byte> dst) const;
  /// The whole section.
  /// @param limit largest size that makes sense to the caller.
  /// @throws corrupt_data when it is larger than `limit` or a checksum differs.
  [[nodiscard]] std::vector<std::byte> read_all(const section& from, std::uint64_t limit) const;
  /// Says that these parts of the container are read next: a source then begins to fetch them together. The
  /// parts of two calls are kept.
  void prefetch(std::span<const byte_range> parts) const;
  /// Drops what `prefetch` of just these parts fetched.
  void forget(std::span<const byte_range> parts) const;
  /// The bytes of a section where they lie, not verified: call `verify` first or check them otherwise. Not
  /// for sources, whose bytes lie nowhere.
  [[nodiscard]] std::span<const std::byte> view(const section& from) const noexcept;
  /// @throws corrupt_data when a checksum of the section differs.
  void verify(const section& what) const;
  /// Verifies every section.
  void verify_all() const;

 private:
  container_reader(file_map map, std::span<const std::byte> bytes, std::string name);
  explicit container_reader(std::shared_ptr<const byte_source> source);
  void read_header();
  /// What the header page says about the object.
  void read_object(std::span<const std::byte> page, std::uint32_t version);
  void read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count, const digest128& digest);
  /// Returns the number of blocks of all sections, which must end at `end`.
  [[nodiscard]] std::uint64_t read_sections(byte_reader& in, std::uint64_t count, std::uint64_t end);
  void index_sections();
  void check_block(const section& of, std::uint64_t block, std::span<const std::byte> copy) const;
  /// Reads and checks whole blocks from number `first` on; the last one of a section with its padding.
  void read_blocks(const section& from, std::uint64_t first, std::span<std::byte> dst) const;
  /// Copies bytes of the container.
  void fetch(std::uint64_t offset, std::span<std::byte> dst) const;
  [[noreturn]] void corrupt(const std::string& why) const;

  file_map map_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const byte_source> source_;  ///< or nullptr
  std::uint64_t size_ = 0;
  std::string name_;
  std::uint32_t version_ = 0;
  object_kind kind_{};
  fingerprint parameters_{};
  ckks::key_id key_{};
  std::vector<section> sections_;
  std::vector<std::uint32_t> by_id_;  ///< numbers of the sections in order of their names
  std::vector<std::uint64_t> checksums_;
};

}  // namespace halocline::io
