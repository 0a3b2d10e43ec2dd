// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "halocline/pir/geometry.hpp"
#include "halocline/pir/records.hpp"

/// Files of records (docs/reference/retrieval_database.md): the geometry, the records, a checksum for every
/// 64 KiB of them, and a journal through which a record is replaced.
namespace halocline::pir {

/// Records of a database that follow each other: what a file of a shard has.
struct record_range {
  std::uint64_t first = 0;
  std::uint64_t records = 0;  ///< 0, for a new file: all from the first one

  bool operator==(const record_range&) const = default;
};

/// Most bytes of the note of a record file.
inline constexpr std::size_t max_note_bytes = 4096;

/// Called with the bytes that are done, of how many; exceptions end the work.
using byte_progress = std::function<void(std::uint64_t, std::uint64_t)>;

/// Writes a record file from pieces of any size, and holds one block of 64 KiB. The file appears under its
/// name only when `finish` has returned; destruction without it leaves nothing behind, and temporary files of
/// processes that were killed are removed by the next writer of the same name. Not thread-safe.
class record_file_writer {
 public:
  /// @param path an old file of this name is replaced by `finish`; who has it open keeps the old records
  /// @throws io_error when the file cannot be made; invalid_argument for records that there are not
  /// @param note further text that is kept with the geometry, such as `to_json(keyword_layout)`: one line of
  /// at most `max_note_bytes`
  record_file_writer(const std::filesystem::path& path, const geometry& of, record_range range = {},
                     const std::string& note = {});
  ~record_file_writer();
  record_file_writer(const record_file_writer&) = delete;
  record_file_writer& operator=(const record_file_writer&) = delete;

  /// Adds bytes of records. @throws invalid_argument for more than the range has; io_error
  void append(std::span<const std::byte> bytes);
  /// Bytes of records so far, and of all.
  [[nodiscard]] std::uint64_t written() const noexcept;
  [[nodiscard]] std::uint64_t expected() const noexcept;
  /// Makes the file durable and gives it its name. Call once, last.
  /// @throws invalid_argument when records are missing; io_error
  void finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Writes a record file from a source.
/// @param next returns the next bytes, which are used before it is called again; none at the end
/// @throws as the writer, and whatever `next` and `progress` throw
void write_record_file(const std::filesystem::path& path, const geometry& of, record_range range,
                       const std::function<std::span<const std::byte>()>& next,
                       const byte_progress& progress = {});

/// An open record file. Offsets are those of the whole database; a file of a shard refuses others than its
/// own. A block is verified when it is read for the first time.
///
/// Each file is open for reading in as many processes as want it. A record can be replaced while no other
/// process, and no other object of this one, has the file open.
class record_file : public record_store {
 public:
  /// Of the whole database.
  [[nodiscard]] virtual const geometry& shape() const noexcept = 0;
  /// What the writer was given as `note`.
  [[nodiscard]] virtual const std::string& note() const noexcept = 0;
  /// Records that the file has.
  [[nodiscard]] virtual record_range range() const noexcept = 0;
  /// Replaces bytes within one record. Afterwards they are on disk; a process that is killed at any moment
  /// leaves the old record or the new one, and the next opening completes what was begun.
  /// @throws invalid_argument for bytes outside the file or beyond one record; corrupt_data when other bytes
  /// of their blocks are damaged; io_error when the file is read-only, open elsewhere, was replaced by
  /// another one, or cannot be written. In all these cases the old bytes are there still; but where writing
  /// fails half-way every later call fails until the file is opened again, which completes the replacement.
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override = 0;
  /// Reads and checks all blocks.
  /// @throws corrupt_data naming the first records that are damaged; io_error
  virtual void verify(const byte_progress& progress = {}) const = 0;
};

/// Opens a record file, and completes a replacement that was interrupted.
/// @param allow_insecure accept parameters below 128 bits
/// @throws io_error when it cannot be read, or another process replaces a record at the moment; corrupt_data
/// for what is no complete record file; insecure_parameters
[[nodiscard]] std::shared_ptr<record_file> open_record_file(const std::filesystem::path& path,
                                                            bool allow_insecure = false);

}  // namespace halocline::pir
