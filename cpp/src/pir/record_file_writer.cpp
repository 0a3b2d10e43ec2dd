// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/io/atomic_file.hpp"
#include "pir/record_format.hpp"

namespace halocline::pir {
namespace {

/// Checksums that are written at once.
constexpr std::size_t sums_per_write = record_page / sizeof(std::uint64_t);

/// Records that a file is to have, as numbers within the database.
record_range checked(const geometry& of, record_range range) {
  HALOCLINE_EXPECTS(range.first < of.records && range.records <= of.records - range.first, invalid_argument,
                    "record file: ", range.records, " records from number ", range.first,
                    " on; the database has ", of.records);
  if (range.records == 0) range.records = of.records - range.first;
  return range;
}

/// The text of the geometry page.
std::string with_note(const geometry& of, const std::string& note) {
  HALOCLINE_EXPECTS(is_note(note), invalid_argument, "record file: a note of ", note.size(),
                    " bytes; expected one line of at most ", max_note_bytes);
  return note.empty() ? to_json(of) : to_json(of) + '\n' + note;
}

void append_zeros(io::atomic_file& file, std::uint64_t count) {
  const std::vector<std::byte> zeros(std::min<std::uint64_t>(count, record_block));
  for (; count != 0; count -= std::min<std::uint64_t>(count, zeros.size())) {
    file.append(std::span(zeros).first(std::min<std::uint64_t>(count, zeros.size())));
  }
}

}  // namespace

struct record_file_writer::state {
  state(const std::filesystem::path& path, const geometry& of, record_range range, const std::string& note)
      : text(with_note(of, note)), at(layout_of(of, checked(of, range), text.size())), file(path) {
    HALOCLINE_EXPECTS(text.size() <= max_geometry_text, invalid_argument, "record file: a geometry of ",
                      text.size(), " bytes; expected at most ", max_geometry_text);
    file.append(write_header(at, text, fingerprint_of(of)));
    file.append(std::as_bytes(std::span(text)));
    append_zeros(file, at.records - file.size());
  }

  void end_block(std::span<const std::byte> bytes) {
    file.append(bytes);
    sums.push_back(io::checksum64(bytes));
    if (sums.size() == sums_per_write) write_sums();
  }
  void write_sums() {
    file.overwrite(at.checksums + sums_written * sizeof(std::uint64_t), std::as_bytes(std::span(sums)));
    sums_written += sums.size();
    sums.clear();
  }

  std::string text;
  record_layout at;
  io::atomic_file file;
  std::uint64_t written = 0;
  std::vector<std::byte> pending;   ///< begin of a block
  std::vector<std::uint64_t> sums;  ///< not written yet
  std::uint64_t sums_written = 0;
};

record_file_writer::record_file_writer(const std::filesystem::path& path, const geometry& of,
                                       record_range range, const std::string& note) {
  io::atomic_file::remove_leftovers(path);
  state_ = std::make_unique<state>(path, of, range, note);
}

record_file_writer::~record_file_writer() = default;

std::uint64_t record_file_writer::written() const noexcept { return state_->written; }
std::uint64_t record_file_writer::expected() const noexcept { return state_->at.data_bytes(); }

void record_file_writer::append(std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(bytes.size() <= expected() - written(), invalid_argument,
                    "record file: ", written() + bytes.size(), " bytes of records or more; expected ",
                    expected(), " for ", state_->at.range.records, " records of ", state_->at.record_bytes,
                    " bytes");
  state_->written += bytes.size();
  std::vector<std::byte>& pending = state_->pending;
  while (!bytes.empty()) {
    if (pending.empty() && bytes.size() >= record_block) {
      state_->end_block(bytes.first(record_block));
      bytes = bytes.subspan(record_block);
      continue;
    }
    const std::size_t taken = std::min<std::size_t>(bytes.size(), record_block - pending.size());
    pending.insert(pending.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
    if (pending.size() < record_block) break;
    state_->end_block(pending);
    pending.clear();
  }
}

void record_file_writer::finish() {
  HALOCLINE_EXPECTS(written() == expected(), invalid_argument, "record file: ", written(),
                    " bytes of records; expected ", expected(), " for ", state_->at.range.records,
                    " records of ", state_->at.record_bytes, " bytes");
  if (!state_->pending.empty()) state_->end_block(std::exchange(state_->pending, {}));
  if (!state_->sums.empty()) state_->write_sums();
  state_->file.commit();
}

void write_record_file(const std::filesystem::path& path, const geometry& of, record_range range,
                       const std::function<std::span<const std::byte>()>& next,
                       const byte_progress& progress) {
  record_file_writer writer(path, of, range);
  for (std::span<const std::byte> piece = next(); !piece.empty(); piece = next()) {
    writer.append(piece);
    if (progress) progress(writer.written(), writer.expected());
  }
  writer.finish();
}

}  // namespace halocline::pir
