// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/container_writer.hpp"

#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "container_layout.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/io/byte_codec.hpp"
#include "halocline/io/checksum.hpp"

namespace halocline::io {

/// Where a container goes.
class byte_sink {
 public:
  virtual ~byte_sink() = default;
  virtual void append(std::span<const std::byte> bytes) = 0;
  virtual void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  virtual void reserve(std::uint64_t bytes) = 0;
  virtual void commit() = 0;
};

namespace {

class file_sink final : public byte_sink {
 public:
  file_sink(const std::filesystem::path& path, file_privacy privacy) : file_(path, privacy) {}
  void append(std::span<const std::byte> bytes) override { file_.append(bytes); }
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) override {
    file_.overwrite(offset, bytes);
  }
  [[nodiscard]] std::uint64_t size() const override { return file_.size(); }
  void reserve(std::uint64_t) override {}
  void commit() override { file_.commit(); }

 private:
  atomic_file file_;
};

/// Smaller vectors may share pages with other memory of the process.
constexpr std::uint64_t least_huge = std::uint64_t{64} << 20;

class memory_sink final : public byte_sink {
 public:
  explicit memory_sink(std::vector<std::byte>& out) : out_(out) {
    HALOCLINE_EXPECTS(out.empty(), invalid_argument, "a container must be written to an empty vector, got ",
                      out.size(), " bytes");
  }
  void append(std::span<const std::byte> bytes) override {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), out_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  [[nodiscard]] std::uint64_t size() const override { return out_.size(); }
  void reserve(std::uint64_t bytes) override {
    out_.reserve(out_.size() + bytes);
    if (bytes < least_huge) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(out_.data());
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t last = (begin + out_.capacity()) / page * page;
    // A hint: gigabytes of keys take half of the time in huge pages. Systems without them refuse it.
    (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
  void commit() override {}

 private:
  std::vector<std::byte>& out_;
};

}  // namespace

container_writer::container_writer(const std::filesystem::path& path, object_kind kind,
                                   const fingerprint& parameters, file_privacy privacy)
    : container_writer(std::make_unique<file_sink>(path, privacy), kind, parameters) {}

container_writer::container_writer(std::vector<std::byte>& out, object_kind kind,
                                   const fingerprint& parameters)
    : container_writer(std::make_unique<memory_sink>(out), kind, parameters) {}

container_writer::container_writer(std::unique_ptr<byte_sink> sink, object_kind kind,
                                   const fingerprint& parameters)
    : sink_(std::move(sink)), kind_(kind), parameters_(parameters) {
  pending_.reserve(block_bytes);
  sink_->append(std::array<std::byte, section_alignment>{});
}

container_writer::~container_writer() {
  // The last bytes of a secret key may be in here.
  sodium_memzero(pending_.data(), pending_.capacity());
}

void container_writer::set_key(const ckks::key_id& key) {
  HALOCLINE_EXPECTS(!key.is_known() || has_key_id(kind_), invalid_argument, "cannot name secret key ",
                    to_string(key), " in a container of kind '", to_string(kind_),
                    "', which depends on none");
  key_ = key;
}

void container_writer::reserve(std::uint64_t bytes) { sink_->reserve(bytes); }

void container_writer::begin_section(const section_id& id) {
  HALOCLINE_EXPECTS(!open_ && !finished_, invalid_argument, "cannot begin section '", to_string(id),
                    "': the previous section or the container is not in a state for it");
  HALOCLINE_EXPECTS(used_.insert(id).second, invalid_argument, "section '", to_string(id),
                    "' is in the container already");
  sections_.push_back({id, sink_->size(), 0, checksums_.size()});
  open_ = true;
}

void container_writer::append(std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(open_, invalid_argument, "cannot append ", bytes.size(), " bytes: no section is open");
  sections_.back().bytes += bytes.size();
  if (!pending_.empty()) {
    const auto head = bytes.first(std::min(bytes.size(), block_bytes - pending_.size()));
    pending_.insert(pending_.end(), head.begin(), head.end());
    bytes = bytes.subspan(head.size());
    if (pending_.size() == block_bytes) {
      write_blocks(pending_);
      pending_.clear();
    }
  }
  const auto whole = bytes.first(bytes.size() / block_bytes * block_bytes);
  write_blocks(whole);
  pending_.insert(pending_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(whole.size()), bytes.end());
}

void container_writer::write_blocks(std::span<const std::byte> bytes) {
  sink_->append(bytes);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), block_bytes))) {
    checksums_.push_back(checksum64(bytes.first(std::min(bytes.size(), block_bytes))));
  }
}

void container_writer::end_section() {
  HALOCLINE_EXPECTS(open_ && sections_.back().bytes > 0, invalid_argument,
                    "cannot end a section: none is open or it is empty");
  if (!pending_.empty()) {
    const section& last = sections_.back();
    pending_.resize(pending_.size() + (last.padded_bytes() - last.bytes));
    write_blocks(pending_);
    pending_.clear();
  }
  open_ = false;
}

void container_writer::add_section(const section_id& id, std::span<const std::byte> bytes) {
  begin_section(id);
  append(bytes);
  end_section();
}

std::vector<std::byte> container_writer::directory() const {
  byte_writer out;
  for (const section& entry : sections_) {
    out.put(entry.id.tag);
    out.put(entry.id.part);
    out.put(entry.id.item);
    out.put(entry.offset);
    out.put(entry.bytes);
  }
  out.put_bytes(std::as_bytes(std::span(checksums_)));
  return {out.bytes().begin(), out.bytes().end()};
}

void container_writer::finish() {
  HALOCLINE_EXPECTS(!open_ && !finished_, invalid_argument,
                    "cannot finish a container with an open section, nor finish it twice");
  HALOCLINE_EXPECTS(!sections_.empty() && sections_.size() <= std::numeric_limits<std::uint32_t>::max(),
                    invalid_argument, "a container needs 1 to 2^32 - 1 sections, got ", sections_.size());
  finished_ = true;
  const std::vector<std::byte> entries = directory();
  const std::uint64_t directory_offset = sink_->size();
  sink_->append(entries);

  std::array<std::byte, header_bytes> header{};
  const auto put = [&header](std::size_t at, const auto& value) {
    std::memcpy(header.data() + at, &value, sizeof value);
  };
  put(layout::magic, container_magic);
  put(layout::version, container_version);
  put(layout::kind, static_cast<std::uint32_t>(kind_));
  put(layout::parameters, parameters_);
  put(layout::file_bytes, sink_->size());
  put(layout::directory_offset, directory_offset);
  put(layout::directory_bytes, std::uint64_t{entries.size()});
  put(layout::section_count, static_cast<std::uint32_t>(sections_.size()));
  put(layout::block_size, static_cast<std::uint32_t>(block_bytes));
  put(layout::key, key_.bytes);
  put(layout::directory_digest, blake2b_128(entries));
  put(layout::header_digest, blake2b_128(std::span(header).first(layout::header_digest)));
  sink_->overwrite(0, header);
  sink_->commit();
}

}  // namespace halocline::io
