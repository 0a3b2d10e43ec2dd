// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halocline/io/checksum.hpp"
#include "halocline/pir/geometry.hpp"
#include "halocline/pir/record_file.hpp"

/// Bytes of record files (docs/reference/retrieval_database.md). The only code that depends on them.
namespace halocline::pir {

inline constexpr std::array<std::uint8_t, 8> record_magic{0x89, 'H', 'L', 'R', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t record_version = 1;
/// Boundary on which the parts of a file start.
inline constexpr std::uint64_t record_page = 4096;
/// Bytes that share a checksum.
inline constexpr std::uint64_t record_block = std::uint64_t{64} << 10;
/// Most bytes of the text: the geometry and, behind a line end, a note if there is one.
inline constexpr std::uint64_t max_geometry_text = std::uint64_t{64} << 10;
/// Bytes of a journal entry before the checksums.
inline constexpr std::uint64_t journal_header = 64;

/// Where the parts of a file lie. Follows from the geometry and the range.
struct record_layout {
  record_range range;
  std::uint64_t record_bytes = 0;
  std::uint64_t text_bytes = 0;  ///< of the geometry, which starts at `record_page`
  std::uint64_t journal = 0;     ///< offset
  std::uint64_t checksums = 0;   ///< offset
  std::uint64_t records = 0;     ///< offset
  std::uint64_t end = 0;         ///< bytes of the file

  /// Bytes of the records in the file.
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return range.records * record_bytes; }
  [[nodiscard]] std::uint64_t blocks() const noexcept {
    return (data_bytes() + record_block - 1) / record_block;
  }
  /// Bytes of a block: the last one may be short.
  [[nodiscard]] std::uint64_t block_bytes(std::uint64_t block) const noexcept {
    return std::min(record_block, data_bytes() - block * record_block);
  }

  bool operator==(const record_layout&) const = default;
};

/// @param range whole: see `record_range`
[[nodiscard]] record_layout layout_of(const geometry& of, record_range range, std::uint64_t text_bytes);

/// Whether a text can be a note: empty, or one line that is not too long.
[[nodiscard]] bool is_note(const std::string& text) noexcept;

/// The header page.
[[nodiscard]] std::vector<std::byte> write_header(const record_layout& at, const std::string& geometry_text,
                                                  const fingerprint& database);

/// What the first pages of a file say.
struct record_header {
  geometry shape;
  record_layout at;
  std::string note{};
};
/// Reads and checks the header and the geometry of untrusted bytes.
/// @param read copies bytes of the file; not called beyond `file_bytes`
/// @throws corrupt_data, insecure_parameters
[[nodiscard]] record_header read_header(const std::function<void(std::uint64_t, std::span<std::byte>)>& read,
                                        std::uint64_t file_bytes, const std::string& name,
                                        bool allow_insecure);

/// A replacement in the journal.
struct journal_entry {
  std::uint64_t offset = 0;  ///< within the records of the file
  std::uint64_t first_block = 0;
  std::vector<std::uint64_t> checksums;  ///< of the blocks from there on, afterwards
  std::vector<std::byte> bytes;
};
[[nodiscard]] std::vector<std::byte> write_journal(const journal_entry& entry);
/// Reads the journal; nothing where there is no complete and valid entry, as after an interrupted write.
[[nodiscard]] std::optional<journal_entry> read_journal(
    const std::function<void(std::uint64_t, std::span<std::byte>)>& read, const record_layout& at);

}  // namespace halocline::pir
