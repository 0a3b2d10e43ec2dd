// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/container_reader.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ios>
#include <numeric>
#include <utility>

#include "container_layout.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/io/byte_codec.hpp"
#include "halocline/io/checksum.hpp"

namespace halocline::io {
namespace {

/// Copy of a field of the header page.
template <typename ValueT>
[[nodiscard]] ValueT field(std::span<const std::byte> page, std::size_t at) {
  ValueT value;
  std::memcpy(&value, page.data() + at, sizeof value);
  return value;
}

/// Bytes that are verified at once: they stay in the L2 cache between copy and checksum.
constexpr std::size_t piece_bytes = 8 * block_bytes;

[[nodiscard]] bool is_zero(std::byte value) noexcept { return value == std::byte{0}; }

/// Copy of a block of which the caller needs a part; wiped, because it may hold a part of a secret key.
struct block_copy {
  std::vector<std::byte> bytes;

  ~block_copy() { sodium_memzero(bytes.data(), bytes.size()); }
};

[[nodiscard]] std::string hex(std::uint64_t value) { return text(std::hex, std::showbase, value); }

}  // namespace

container_reader container_reader::open(const std::filesystem::path& path) {
  file_map map(path);
  const auto bytes = map.bytes();
  return {std::move(map), bytes, text('\'', path.string(), '\'')};
}

container_reader container_reader::over(std::span<const std::byte> bytes, std::string name) {
  return {file_map(), bytes, std::move(name)};
}

container_reader::container_reader(file_map map, std::span<const std::byte> bytes, std::string name)
    : map_(std::move(map)), bytes_(bytes), size_(bytes.size()), name_(std::move(name)) {
  read_header();
  index_sections();
}

container_reader container_reader::from(std::shared_ptr<const byte_source> source) {
  return container_reader(std::move(source));
}

container_reader::container_reader(std::shared_ptr<const byte_source> source)
    : source_(std::move(source)), size_(source_->bytes()), name_(source_->name()) {
  read_header();
  index_sections();
}

void container_reader::prefetch(std::span<const byte_range> parts) const {
  if (source_) source_->prefetch(parts);
}

void container_reader::forget(std::span<const byte_range> parts) const {
  if (source_) source_->forget(parts);
}

void container_reader::corrupt(const std::string& why) const {
  throw corrupt_data(text(name_, " is corrupt: ", why, "; fetch or generate it again"));
}

void container_reader::read_header() {
  // A copy, so that what is checked is what is used.
  std::array<std::byte, section_alignment> page;
  const auto present = std::span(page).first(std::min<std::uint64_t>(size_, page.size()));
  fetch(0, present);
  const std::size_t shown = std::min(present.size(), container_magic.size());
  HALOCLINE_EXPECTS(
      shown > 0 && std::memcmp(page.data(), container_magic.data(), shown) == 0, corrupt_data, name_,
      " is not a Halocline file: ", shown == 0 ? "it is empty" : "it does not begin as those do");
  HALOCLINE_EXPECTS(size_ >= section_alignment, corrupt_data, name_, " is truncated: ", size_,
                    " bytes, the header alone has ", section_alignment);
  const auto version = field<std::uint32_t>(page, layout::version);
  HALOCLINE_EXPECTS(version <= container_version, corrupt_data, name_, " has format version ", version,
                    ", this library reads versions up to ", container_version,
                    "; update halocline to read it");
  const auto digest = blake2b_128(std::span(page).first(layout::header_digest));
  if (version == 0 || digest != field<digest128>(page, layout::header_digest)) {
    corrupt("its header does not match its checksum");
  }
  const auto file_bytes = field<std::uint64_t>(page, layout::file_bytes);
  HALOCLINE_EXPECTS(size_ == file_bytes, corrupt_data, name_,
                    size_ < file_bytes ? " is truncated: " : " has bytes after its end: ", size_,
                    " bytes, its header says ", file_bytes);
  read_object(page, version);
  read_directory(field<std::uint64_t>(page, layout::directory_offset),
                 field<std::uint64_t>(page, layout::directory_bytes),
                 field<std::uint32_t>(page, layout::section_count),
                 field<digest128>(page, layout::directory_digest));
}

void container_reader::read_object(std::span<const std::byte> page, std::uint32_t version) {
  const auto kind = field<std::uint32_t>(page, layout::kind);
  if (!is_known_kind(kind) || field<std::uint32_t>(page, layout::block_size) != block_bytes ||
      !std::all_of(page.begin() + (version < key_id_version ? layout::key : layout::reserved),
                   page.begin() + layout::directory_digest, is_zero) ||
      !std::all_of(page.begin() + header_bytes, page.end(), is_zero)) {
    corrupt(text("its header has an unknown object kind (", kind, ") or content in reserved places"));
  }
  version_ = version;
  kind_ = static_cast<object_kind>(kind);
  key_ = {field<std::array<std::uint8_t, 16>>(page, layout::key)};
  if (key_.is_known() && !has_key_id(kind_)) {
    corrupt(
        text("its header names a secret key, on which no object of kind '", to_string(kind_), "' depends"));
  }
  parameters_ = field<fingerprint>(page, layout::parameters);
}

void container_reader::read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count,
                                      const digest128& digest) {
  const std::uint64_t total = size_;
  if (offset < section_alignment || offset % section_alignment != 0 || offset > total ||
      size != total - offset || count == 0 || count > size / section_entry_bytes ||
      size % sizeof(std::uint64_t) != 0) {
    corrupt(text("its directory of ", count, " sections is said to be ", size, " bytes at ", offset, " of ",
                 total));
  }
  // A section has at least 4096 bytes, an entry of 32 and checksums of 8 for each 64 KiB: below 1/64 of all.
  if (source_ && size > total / 64) {
    corrupt(text("its directory is said to be ", size, " bytes of ", total, ", more than any container has"));
  }
  std::vector<std::byte> entries(size);
  fetch(offset, entries);
  if (blake2b_128(entries) != digest) {
    corrupt("its directory does not match its checksum");
  }
  byte_reader in(entries, text(name_, ": directory"));
  const std::uint64_t blocks = read_sections(in, count, offset);
  if (in.left() != blocks * sizeof(std::uint64_t)) {
    corrupt(text("its directory has room for ", in.left() / sizeof(std::uint64_t),
                 " checksums, its sections have ", blocks));
  }
  checksums_.resize(blocks);
  std::memcpy(checksums_.data(), in.get_bytes(in.left()).data(), blocks * sizeof(std::uint64_t));
}

std::uint64_t container_reader::read_sections(byte_reader& in, std::uint64_t count, std::uint64_t end) {
  sections_.reserve(count);
  std::uint64_t next = section_alignment;
  std::uint64_t blocks = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    section entry;
    entry.id.tag = in.get<std::uint32_t>();
    entry.id.part = in.get<std::uint32_t>();
    entry.id.item = in.get<std::uint64_t>();
    entry.offset = in.get<std::uint64_t>();
    entry.bytes = in.get<std::uint64_t>();
    entry.first_block = blocks;
    // Sections follow each other without gaps, so nothing can overlap, leave the file or hide between them.
    if (entry.offset != next || entry.bytes == 0 || entry.bytes > end - next ||
        entry.padded_bytes() > end - next) {
      corrupt(text("section '", to_string(entry.id), "' is said to be ", entry.bytes, " bytes at ",
                   entry.offset, ", expected at most ", end - next, " at ", next));
    }
    next += entry.padded_bytes();
    blocks += entry.blocks();
    sections_.push_back(entry);
  }
  if (next != end) {
    corrupt(text("its sections end at ", next, ", its directory begins at ", end));
  }
  return blocks;
}

void container_reader::index_sections() {
  by_id_.resize(sections_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  std::sort(by_id_.begin(), by_id_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return sections_[a].id < sections_[b].id; });
  for (std::size_t i = 1; i < by_id_.size(); ++i) {
    if (sections_[by_id_[i - 1]].id == sections_[by_id_[i]].id) {
      corrupt(text("it has two sections '", to_string(sections_[by_id_[i]].id), '\''));
    }
  }
}

void container_reader::expect_kind(object_kind kind) const {
  HALOCLINE_EXPECTS(kind == kind_, invalid_argument, name_, " holds a Halocline object of kind '",
                    to_string(kind_), "', expected '", to_string(kind), '\'');
}

void container_reader::expect_parameters(const fingerprint& parameters) const {
  HALOCLINE_EXPECTS(parameters == parameters_, invalid_argument, name_,
                    " was made for other parameters: their fingerprint is ", to_string(parameters_),
                    "..., expected ", to_string(parameters),
                    "...; load it with the parameters it was made with");
}

const section* container_reader::find(const section_id& id) const noexcept {
  const auto at = std::lower_bound(
      by_id_.begin(), by_id_.end(), id,
      [this](std::uint32_t number, const section_id& key) { return sections_[number].id < key; });
  return at != by_id_.end() && sections_[*at].id == id ? &sections_[*at] : nullptr;
}

const section& container_reader::at(const section_id& id) const {
  const section* const found = find(id);
  if (found == nullptr) {
    corrupt(text("section '", to_string(id), "' is missing"));
  }
  return *found;
}

void container_reader::fetch(std::uint64_t offset, std::span<std::byte> dst) const {
  if (source_) {
    source_->read(offset, dst);
  } else if (map_.is_open()) {
    map_.read(offset, dst);
  } else if (!dst.empty()) {
    std::memcpy(dst.data(), bytes_.data() + offset, dst.size());
  }
}

void container_reader::check_block(const section& of, std::uint64_t block,
                                   std::span<const std::byte> copy) const {
  const std::uint64_t expected = checksums_[of.first_block + block];
  const std::uint64_t got = checksum64(copy);
  if (got != expected) {
    corrupt(text("bytes ", block * block_bytes, " to ", block * block_bytes + copy.size(), " of section '",
                 to_string(of.id), "' have checksum ", hex(got), ", expected ", hex(expected)));
  }
  if (block + 1 == of.blocks()) {
    const auto padding = copy.last(of.padded_bytes() - of.bytes);
    if (!std::all_of(padding.begin(), padding.end(), is_zero)) {
      corrupt(text("the padding after section '", to_string(of.id), "' is not zero"));
    }
  }
}

void container_reader::read_blocks(const section& from, std::uint64_t first, std::span<std::byte> dst) const {
  fetch(from.offset + first * block_bytes, dst);
  for (std::uint64_t block = first; !dst.empty(); ++block) {
    const auto copy = dst.first(std::min(block_bytes, dst.size()));
    check_block(from, block, copy);
    dst = dst.subspan(copy.size());
  }
}

void container_reader::read(const section& from, std::uint64_t offset, std::span<std::byte> dst) const {
  HALOCLINE_EXPECTS(offset <= from.bytes && dst.size() <= from.bytes - offset, invalid_argument,
                    "cannot read bytes [", offset, ", ", offset + dst.size(), ") of section '",
                    to_string(from.id), "' of ", name_, ": it has ", from.bytes);
  block_copy edge;
  while (!dst.empty()) {
    const std::uint64_t block = offset / block_bytes;
    const std::size_t skipped = offset % block_bytes;
    std::size_t wanted = dst.size() / block_bytes * block_bytes;
    if (skipped == 0 && (wanted > 0 || dst.size() == from.padded_bytes() - offset)) {
      if (wanted == 0) wanted = dst.size();
      read_blocks(from, block, dst.first(wanted));
    } else {
      edge.bytes.resize(std::min<std::uint64_t>(block_bytes, from.padded_bytes() - block * block_bytes));
      read_blocks(from, block, edge.bytes);
      wanted = std::min(edge.bytes.size() - skipped, dst.size());
      std::memcpy(dst.data(), edge.bytes.data() + skipped, wanted);
    }
    dst = dst.subspan(wanted);
    offset += wanted;
  }
}

std::vector<std::byte> container_reader::read_all(const section& from, std::uint64_t limit) const {
  if (from.bytes > limit) {
    corrupt(text("section '", to_string(from.id), "' has ", from.bytes, " bytes, expected at most ", limit));
  }
  std::vector<std::byte> out(from.bytes);
  read(from, 0, out);
  return out;
}

std::span<const std::byte> container_reader::view(const section& from) const noexcept {
  return bytes_.subspan(from.offset, from.bytes);
}

void container_reader::verify(const section& what) const {
  block_copy piece;
  piece.bytes.resize(std::min<std::uint64_t>(piece_bytes, what.padded_bytes()));
  for (std::uint64_t at = 0; at < what.padded_bytes(); at += piece.bytes.size()) {
    const auto part =
        std::span(piece.bytes).first(std::min<std::uint64_t>(piece.bytes.size(), what.padded_bytes() - at));
    read_blocks(what, at / block_bytes, part);
  }
}

void container_reader::verify_all() const {
  for (const section& each : sections_) {
    verify(each);
  }
}

}  // namespace halocline::io
