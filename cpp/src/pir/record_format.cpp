// SPDX-License-Identifier: Apache-2.0
#include "pir/record_format.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/io/byte_codec.hpp"

namespace halocline::pir {
namespace {

using reading = std::function<void(std::uint64_t, std::span<std::byte>)>;

constexpr std::size_t signed_bytes = 112;  ///< of the header, before its digest
constexpr std::size_t header_bytes = signed_bytes + sizeof(io::digest128);
constexpr std::uint64_t journal_magic = 0x314c524e4a524c48;  // "HLRJNRL1"
constexpr std::size_t journal_sum = 56;                      ///< place of the checksum in the entry

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + record_page - 1) / record_page * record_page;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Blocks that `bytes` bytes from an offset on touch.
std::uint64_t blocks_touched(std::uint64_t offset, std::uint64_t bytes) {
  return (offset + bytes - 1) / record_block - offset / record_block + 1;
}

/// What the header page says.
struct header_page {
  record_layout at;
  fingerprint database{};
  io::digest128 text_digest{};
};

/// Checks of one file.
class header_check {
 public:
  header_check(const reading& read, std::uint64_t file_bytes, const std::string& name)
      : read_(read), file_bytes_(file_bytes), name_(name) {}

  [[nodiscard]] header_page page() const;
  [[nodiscard]] std::string geometry_text(const header_page& from) const;
  /// The layout that the geometry gives, if it is that of the header.
  [[nodiscard]] record_layout layout(const header_page& from, const geometry& shape) const;
  template <typename... PartT>
  void expect(bool holds, const PartT&... why) const {
    HALOCLINE_EXPECTS(holds, corrupt_data, name_, ": ", why...);
  }

 private:
  void check_page(std::span<const std::byte> page) const;

  const reading& read_;
  std::uint64_t file_bytes_;
  const std::string& name_;
};

void header_check::check_page(std::span<const std::byte> page) const {
  expect(std::ranges::equal(page.first(record_magic.size()), std::as_bytes(std::span(record_magic))),
         "no record file: it begins with other bytes");
  io::byte_reader in(page.subspan(record_magic.size()), name_);
  const auto version = in.get<std::uint32_t>();
  expect(version == record_version, "a record file of version ", version, "; this library reads version ",
         record_version, ", another one may read it");
  const io::digest128 digest = io::blake2b_128(page.first(signed_bytes));
  expect(std::ranges::equal(page.subspan(signed_bytes, digest.size()), std::as_bytes(std::span(digest))),
         "the header is damaged: its digest differs. Build the file again");
  expect(std::ranges::all_of(page.subspan(header_bytes), [](std::byte b) { return b == std::byte{0}; }),
         "the header is damaged: unused bytes are not zero");
}

header_page header_check::page() const {
  expect(file_bytes_ >= record_page, "no record file: ", file_bytes_, " bytes, expected a header of ",
         record_page);
  std::vector<std::byte> page(record_page);
  read_(0, page);
  check_page(page);
  io::byte_reader in(std::span<const std::byte>(page).subspan(record_magic.size() + sizeof(std::uint32_t)),
                     name_);
  const auto block = in.get<std::uint32_t>();
  expect(block == record_block, "blocks of ", block, " bytes; expected ", record_block);
  header_page said;
  record_layout& at = said.at;
  for (std::uint64_t* each : {&at.range.first, &at.range.records, &at.text_bytes, &at.journal, &at.checksums,
                              &at.records, &at.end}) {
    *each = in.get<std::uint64_t>();
  }
  expect(at.end == file_bytes_, "truncated or extended: ", file_bytes_, " bytes, expected ", at.end);
  std::ranges::copy(in.get_bytes(said.database.size()),
                    std::as_writable_bytes(std::span(said.database)).begin());
  expect(in.get<std::uint64_t>() == 0, "the header has bytes that this version does not know");
  std::ranges::copy(in.get_bytes(said.text_digest.size()),
                    std::as_writable_bytes(std::span(said.text_digest)).begin());
  return said;
}

std::string header_check::geometry_text(const header_page& from) const {
  const std::uint64_t bytes = from.at.text_bytes;
  expect(bytes > 0 && bytes <= max_geometry_text && whole_pages(bytes) <= file_bytes_ - record_page,
         "a geometry of ", bytes, " bytes in a file of ", file_bytes_, "; expected 1 to ", max_geometry_text);
  std::string text(whole_pages(bytes), '\0');
  read_(record_page, std::as_writable_bytes(std::span(text)));
  expect(text.find_first_not_of('\0', bytes) == std::string::npos, "bytes behind the geometry are not zero");
  text.resize(bytes);
  expect(io::blake2b_128(bytes_of(text)) == from.text_digest, "the geometry is damaged: its digest differs");
  return text;
}

record_layout header_check::layout(const header_page& from, const geometry& shape) const {
  const record_range range = from.at.range;
  expect(range.first < shape.records && range.records > 0 && range.records <= shape.records - range.first,
         range.records, " records from number ", range.first, " on; the database has ", shape.records);
  record_layout said = from.at;
  said.record_bytes = shape.record_bytes;
  const record_layout found = layout_of(shape, range, said.text_bytes);
  expect(found == said, "its parts are not where the geometry puts them");
  return found;
}

}  // namespace

record_layout layout_of(const geometry& of, record_range range, std::uint64_t text_bytes) {
  record_layout at;
  at.range = range;
  at.record_bytes = of.record_bytes;
  at.text_bytes = text_bytes;
  at.journal = record_page + whole_pages(text_bytes);
  // A record that does not begin with a block touches one more than it fills.
  const std::uint64_t touched = (of.record_bytes - 1) / record_block + 2;
  at.checksums = at.journal + whole_pages(journal_header + touched * sizeof(std::uint64_t) + of.record_bytes);
  at.records = at.checksums + whole_pages(at.blocks() * sizeof(std::uint64_t));
  at.end = at.records + at.data_bytes();
  return at;
}

bool is_note(const std::string& text) noexcept {
  return text.size() <= max_note_bytes && text.find('\n') == std::string::npos;
}

std::vector<std::byte> write_header(const record_layout& at, const std::string& geometry_text,
                                    const fingerprint& database) {
  io::byte_writer out;
  out.put_bytes(std::as_bytes(std::span(record_magic)));
  out.put(record_version);
  out.put(static_cast<std::uint32_t>(record_block));
  for (const std::uint64_t each :
       {at.range.first, at.range.records, at.text_bytes, at.journal, at.checksums, at.records, at.end}) {
    out.put(each);
  }
  out.put_bytes(std::as_bytes(std::span(database)));
  out.put(std::uint64_t{0});
  const io::digest128 of_text = io::blake2b_128(bytes_of(geometry_text));
  out.put_bytes(std::as_bytes(std::span(of_text)));
  const io::digest128 of_header = io::blake2b_128(out.bytes());
  out.put_bytes(std::as_bytes(std::span(of_header)));
  std::vector<std::byte> page(out.bytes().begin(), out.bytes().end());
  page.resize(record_page);
  return page;
}

record_header read_header(const reading& read, std::uint64_t file_bytes, const std::string& name,
                          bool allow_insecure) {
  const header_check check(read, file_bytes, name);
  const header_page said = check.page();
  const std::string text = check.geometry_text(said);
  try {
    const std::size_t end = text.find('\n');
    const std::string first = text.substr(0, end);
    record_header found{geometry_from_json(first, allow_insecure), {}, {}};
    if (end != std::string::npos) {
      found.note = text.substr(end + 1);
      check.expect(is_note(found.note) && !found.note.empty(), "the note of the geometry is no line of text");
    }
    check.expect(to_json(found.shape) == first, "the text of the geometry is not the canonical one");
    check.expect(fingerprint_of(found.shape) == said.database, "the fingerprint is not that of the geometry");
    found.at = check.layout(said, found.shape);
    return found;
  } catch (const insecure_parameters&) {
    throw;
  } catch (const invalid_argument& wrong) {
    throw corrupt_data(halocline::text(name, ": the geometry is refused: ", wrong.what()));
  }
}

std::vector<std::byte> write_journal(const journal_entry& entry) {
  io::byte_writer out;
  out.put(journal_magic);
  for (const std::uint64_t each : {entry.offset, std::uint64_t{entry.bytes.size()}, entry.first_block,
                                   std::uint64_t{entry.checksums.size()}}) {
    out.put(each);
  }
  out.put(std::uint64_t{0});
  out.put(std::uint64_t{0});
  out.put(std::uint64_t{0});
  out.put_bytes(std::as_bytes(std::span(entry.checksums)));
  out.put_bytes(entry.bytes);
  std::vector<std::byte> made(out.bytes().begin(), out.bytes().end());
  const std::uint64_t sum = io::checksum64(made);  // while its own place is zero
  std::memcpy(made.data() + journal_sum, &sum, sizeof(sum));
  return made;
}

std::optional<journal_entry> read_journal(const reading& read, const record_layout& at) {
  std::vector<std::byte> all(journal_header);
  read(at.journal, all);
  io::byte_reader in(all, "journal");
  if (in.get<std::uint64_t>() != journal_magic) return {};
  journal_entry found;
  found.offset = in.get<std::uint64_t>();
  const auto bytes = in.get<std::uint64_t>();
  found.first_block = in.get<std::uint64_t>();
  const auto blocks = in.get<std::uint64_t>();
  // The order of the comparisons keeps sums within 64 bits.
  const bool is_inside = bytes > 0 && bytes <= at.record_bytes && found.offset < at.data_bytes() &&
                         found.offset % at.record_bytes + bytes <= at.record_bytes &&
                         found.first_block == found.offset / record_block &&
                         blocks == blocks_touched(found.offset, bytes);
  if (!is_inside) return {};
  all.resize(journal_header + blocks * sizeof(std::uint64_t) + bytes);
  read(at.journal + journal_header, std::span(all).subspan(journal_header));
  std::uint64_t sum = 0;
  std::memcpy(&sum, all.data() + journal_sum, sizeof(sum));
  std::fill_n(all.begin() + journal_sum, sizeof(sum), std::byte{0});
  if (io::checksum64(all) != sum) return {};
  found.checksums.resize(blocks);
  std::memcpy(found.checksums.data(), all.data() + journal_header, blocks * sizeof(std::uint64_t));
  found.bytes.assign(all.end() - static_cast<std::ptrdiff_t>(bytes), all.end());
  return found;
}

}  // namespace halocline::pir
