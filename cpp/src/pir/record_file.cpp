// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/record_file.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "pir/locked_file.hpp"
#include "pir/record_format.hpp"

namespace halocline::pir {
namespace {

/// Blocks that are read at once.
constexpr std::uint64_t blocks_per_read = 64;
/// How often an opening tries to have the file alone, with growing pauses, to complete a replacement.
constexpr int most_attempts = 10;
constexpr std::chrono::milliseconds pause{10};

/// A bit for each block, set when its checksum was found right. Thread-safe.
class block_set {
 public:
  explicit block_set(std::uint64_t blocks) : words_((blocks + 63) / 64) {}
  [[nodiscard]] bool has(std::uint64_t block) const noexcept {
    return (words_[block / 64].load(std::memory_order_relaxed) >> (block % 64) & 1U) != 0;
  }
  void add(std::uint64_t block) noexcept {
    words_[block / 64].fetch_or(std::uint64_t{1} << (block % 64), std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<std::uint64_t>> words_;
};

class open_file final : public record_file {
 public:
  open_file(const std::filesystem::path& path, bool allow_insecure);

  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return header_.shape.records * header_.shape.record_bytes;
  }
  [[nodiscard]] const geometry& shape() const noexcept override { return header_.shape; }
  [[nodiscard]] const std::string& note() const noexcept override { return header_.note; }
  [[nodiscard]] record_range range() const noexcept override { return at().range; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void verify(const byte_progress& progress) const override;

 private:
  [[nodiscard]] const record_layout& at() const noexcept { return header_.at; }
  [[nodiscard]] std::uint64_t local(std::uint64_t offset, std::uint64_t count) const;
  void read_here(std::uint64_t offset, std::span<std::byte> out) const;
  void read_blocks(std::uint64_t first, std::uint64_t count, std::span<std::byte> out,
                   bool again = false) const;
  void expect_whole() const;
  /// Does what must succeed: else the file is refused from then on.
  template <typename WorkT>
  void refuse_unless(const WorkT& work) {
    try {
      work();
    } catch (...) {
      torn_ = true;
      throw;
    }
  }
  void recover();
  [[nodiscard]] journal_entry plan(std::uint64_t offset, std::span<const std::byte> bytes) const;
  void lock_for_writing();
  void log(const journal_entry& entry);
  void clear_journal();
  void apply(const journal_entry& entry);
  void replace(const journal_entry& entry);

  locked_file file_;
  record_header header_;
  mutable block_set verified_;
  std::mutex writing_;                  ///< one replacement after the other
  mutable std::shared_mutex changing_;  ///< readers share it; held alone while bytes change
  std::atomic<bool> torn_ = false;      ///< a replacement was not completed
};

record_header header_of(const locked_file& file, bool allow_insecure) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) { file.read(offset, out); };
  return read_header(read, file.bytes(), file.name(), allow_insecure);
}

open_file::open_file(const std::filesystem::path& path, bool allow_insecure)
    : file_(path), header_(header_of(file_, allow_insecure)), verified_(at().blocks()) {
  recover();
}

// Reading

/// Offset within the file of bytes of the database.
std::uint64_t open_file::local(std::uint64_t offset, std::uint64_t count) const {
  const std::uint64_t begin = at().range.first * at().record_bytes;
  HALOCLINE_EXPECTS(
      offset >= begin && offset - begin <= at().data_bytes() && count <= at().data_bytes() - (offset - begin),
      invalid_argument, file_.name(), ": ", count, " bytes from ", offset, " on; it has the records ",
      at().range.first, " to ", at().range.first + at().range.records - 1, ", which are bytes ", begin,
      " to ", begin + at().data_bytes() - 1);
  return offset - begin;
}

void open_file::expect_whole() const {
  HALOCLINE_EXPECTS(!torn_, io_error, file_.name(),
                    ": a record could not be replaced completely; open the file again, which completes it");
}

void open_file::read(std::uint64_t offset, std::span<std::byte> out) const {
  offset = local(offset, out.size());
  const std::shared_lock reading(changing_);
  expect_whole();
  read_here(offset, out);
}

void open_file::read_here(std::uint64_t offset, std::span<std::byte> out) const {
  std::vector<std::byte> copy;
  while (!out.empty()) {
    const std::uint64_t block = offset / record_block;
    const std::uint64_t skipped = offset % record_block;
    std::uint64_t count = std::min<std::uint64_t>(out.size(), at().block_bytes(block) - skipped);
    if (count == at().block_bytes(block)) {
      std::uint64_t blocks = std::clamp<std::uint64_t>(out.size() / record_block, 1, blocks_per_read);
      count = blocks == 1 ? count : blocks * record_block;
      read_blocks(block, blocks, out.first(count));
    } else if (verified_.has(block)) {
      file_.read(at().records + offset, out.first(count));
    } else {
      copy.resize(at().block_bytes(block));
      read_blocks(block, 1, copy);
      std::ranges::copy(std::span(copy).subspan(skipped, count), out.begin());
    }
    out = out.subspan(count);
    offset += count;
  }
}

/// Copies whole blocks, and checks those that were not checked before, or all of them.
void open_file::read_blocks(std::uint64_t first, std::uint64_t count, std::span<std::byte> out,
                            bool again) const {
  file_.read(at().records + first * record_block, out);
  std::vector<std::uint64_t> sums;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t block = first + i;
    if (!again && verified_.has(block)) continue;
    if (sums.empty()) {
      sums.resize(count);
      file_.read(at().checksums + first * sizeof(std::uint64_t), std::as_writable_bytes(std::span(sums)));
    }
    const std::uint64_t begin = block * record_block;
    const std::uint64_t end = begin + at().block_bytes(block);
    HALOCLINE_EXPECTS(io::checksum64(out.subspan(i * record_block, end - begin)) == sums[i], corrupt_data,
                      file_.name(), ": records ", at().range.first + begin / at().record_bytes, " to ",
                      at().range.first + (end - 1) / at().record_bytes,
                      " are damaged: the checksum of block ", block,
                      " differs. Build the file again, or take a copy of it");
    verified_.add(block);
  }
}

void open_file::verify(const byte_progress& progress) const {
  std::vector<std::byte> copy;
  for (std::uint64_t block = 0; block < at().blocks();) {
    const std::uint64_t count = std::min(blocks_per_read, at().blocks() - block);
    const std::uint64_t end = std::min(at().data_bytes(), (block + count) * record_block);
    copy.resize(end - block * record_block);
    {
      const std::shared_lock reading(changing_);
      expect_whole();
      read_blocks(block, count, copy, true);
    }
    block += count;
    if (progress) progress(end, at().data_bytes());
  }
}

// Replacing

/// The entry for a replacement. Other bytes of its blocks are verified: their checksums are made anew.
journal_entry open_file::plan(std::uint64_t offset, std::span<const std::byte> bytes) const {
  const std::uint64_t end = offset + bytes.size();
  journal_entry entry{offset, offset / record_block, {}, {bytes.begin(), bytes.end()}};
  std::vector<std::byte> copy;
  for (std::uint64_t block = entry.first_block; block * record_block < end; ++block) {
    const std::uint64_t begin = block * record_block;
    copy.resize(at().block_bytes(block));
    const std::uint64_t from = std::max(begin, offset);
    const std::uint64_t to = std::min(begin + copy.size(), end);
    if (to - from != copy.size()) read_blocks(block, 1, copy);
    std::ranges::copy(bytes.subspan(from - offset, to - from),
                      copy.begin() + static_cast<std::ptrdiff_t>(from - begin));
    entry.checksums.push_back(io::checksum64(copy));
  }
  return entry;
}

void open_file::clear_journal() { file_.write(at().journal, std::vector<std::byte>(journal_header)); }

/// Writes what is in the journal to its place. It may be done again.
void open_file::apply(const journal_entry& entry) {
  file_.write(at().records + entry.offset, entry.bytes);
  file_.write(at().checksums + entry.first_block * sizeof(std::uint64_t),
              std::as_bytes(std::span(entry.checksums)));
}

/// Makes the journal durable. When that fails it is empty again, or the file is refused from then on.
void open_file::log(const journal_entry& entry) {
  try {
    file_.write(at().journal, write_journal(entry));
    file_.synchronize();
  } catch (const io_error&) {
    refuse_unless([&] {  // the next opening might find the entry complete
      clear_journal();
      file_.synchronize();
    });
    throw;
  }
}

void open_file::replace(const journal_entry& entry) {
  log(entry);
  {
    const std::unique_lock alone(changing_);
    torn_ = true;
    apply(entry);
    torn_ = false;
    for (std::uint64_t i = 0; i < entry.checksums.size(); ++i) verified_.add(entry.first_block + i);
  }
  refuse_unless([&] {
    file_.synchronize();
    clear_journal();
  });
}

void open_file::lock_for_writing() {
  HALOCLINE_EXPECTS(file_.is_writable(), io_error, file_.name(),
                    ": records cannot be replaced: the file is read-only");
  HALOCLINE_EXPECTS(file_.has_its_name(), io_error, file_.name(),
                    ": records cannot be replaced: another file has the name now; open that one");
  {
    const std::unique_lock alone(changing_);  // a lock that others have may cost the own one
    if (file_.lock_alone()) return;
    refuse_unless([&] { file_.share(); });
  }
  throw io_error(text(file_.name(),
                      ": records cannot be replaced while another process, or another object of "
                      "this one, has the file open; close it there"));
}

void open_file::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  offset = local(offset, bytes.size());
  HALOCLINE_EXPECTS(!bytes.empty() && offset % at().record_bytes + bytes.size() <= at().record_bytes,
                    invalid_argument, file_.name(), ": ", bytes.size(), " bytes from ", offset,
                    " on; expected bytes of one record of ", at().record_bytes);
  const std::lock_guard one(writing_);
  expect_whole();
  lock_for_writing();
  const auto end = [&] {
    const std::unique_lock alone(changing_);
    refuse_unless([&] { file_.share(); });
  };
  try {
    replace(plan(offset, bytes));
  } catch (...) {
    end();
    throw;
  }
  end();
}

/// Completes a replacement that a process began which was killed.
void open_file::recover() {
  const auto pending = [this] {
    return read_journal([this](std::uint64_t offset, std::span<std::byte> out) { file_.read(offset, out); },
                        at());
  };
  for (int attempt = 0; pending(); ++attempt) {
    HALOCLINE_EXPECTS(
        file_.is_writable(), io_error, file_.name(),
        ": the replacement of a record was interrupted, and the file is read-only; open it once "
        "where it can be written");
    HALOCLINE_EXPECTS(attempt < most_attempts, io_error, file_.name(),
                      ": the replacement of a record was interrupted; open it when no other process has it "
                      "open");
    if (attempt != 0) std::this_thread::sleep_for(pause * attempt);
    if (file_.lock_alone()) {
      if (const std::optional<journal_entry> entry = pending()) {
        apply(*entry);
        file_.synchronize();
        clear_journal();
      }
    }
    file_.share();  // where another process completes the replacement, this waits for it
  }
}

}  // namespace

std::shared_ptr<record_file> open_record_file(const std::filesystem::path& path, bool allow_insecure) {
  return std::make_shared<open_file>(path, allow_insecure);
}

}  // namespace halocline::pir
