// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/file_store.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/core/process.hpp"
#include "memory/tier/extent_list.hpp"
#include "memory/tier/pages.hpp"
#include "memory/tier/tier_file.hpp"
#include "memory/tier/transfer_board.hpp"

namespace halocline::memory {
namespace {

/// The file grows by at least this much, because growing costs a journal entry of the file system.
constexpr std::uint64_t growth_bytes = std::uint64_t{32} << 20;

std::string reason_of(int error) {
  switch (error) {
    case io_end_of_file:
      return "the file ends here; something else has cut it off";
    case wrong_bytes:
      return "the 4096 bytes here are not what was written (their checksum differs); something else has "
             "changed the file, or its disk is failing";
    default:
      return std::strerror(error);
  }
}

class file_store final : public store {
 public:
  explicit file_store(const file_store_options& options)
      : options_(options),
        file_(options.folder, options.direct),
        queue_(make_io_queue(board_, options.engine, options.queue_depth)),
        process_(process_generation()),
        hook_(fork_order::store, {[this](fork_deadline until) { return come_to_rest(until); },
                                  [this] { queue_->resume(); }, [this](bool) { file_.forsake(); }}) {
    HALOCLINE_EXPECTS(options.chunk_bytes > 0 && options.chunk_bytes % page_bytes == 0, invalid_argument,
                      "file tier: chunks of ", options.chunk_bytes, " bytes; the size must be a multiple of ",
                      page_bytes);
  }
  ~file_store() override {
    // A forked child has a copy of the queue without its threads: there is nothing that could be waited for.
    if (process_ != process_generation()) static_cast<void>(queue_.release());
  }
  file_store(const file_store&) = delete;
  file_store& operator=(const file_store&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "file"; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] slot_id allocate(std::size_t bytes) override;
  void free(slot_id slot) noexcept override;
  [[nodiscard]] transfer_id read_from(slot_id slot, std::size_t offset, std::byte* frame,
                                      std::size_t bytes) override {
    return start(slot, offset, frame, bytes, false);
  }
  [[nodiscard]] transfer_id write(slot_id slot, const std::byte* frame, std::size_t bytes) override {
    return start(slot, 0, const_cast<std::byte*>(frame), bytes,
                 true);  // requests that write only read from it
  }
  [[nodiscard]] bool poll(transfer_id transfer) override {
    check_process();
    return board_.has_ended(transfer);
  }
  void wait(transfer_id transfer) override;
  [[nodiscard]] store_stats statistics() const override;

 private:
  struct extent {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::vector<std::uint64_t> checksums;  // one per page; 0: never written
  };
  struct transfer_info {
    bool write;
    std::uint64_t offset;
    std::size_t bytes;
  };

  [[nodiscard]] transfer_id start(slot_id slot, std::size_t offset, std::byte* frame, std::size_t bytes,
                                  bool write);
  void check_process() const;
  [[nodiscard]] bool come_to_rest(fork_deadline until);
  void grow_for(std::uint64_t bytes);
  [[noreturn]] void throw_failed(const transfer_info& what, const transfer_board::outcome& how) const;
  [[noreturn]] void throw_full(std::uint64_t bytes, int error) const;

  file_store_options options_;
  tier_file file_;
  std::uint64_t file_bytes_ = 0;
  extent_list unused_;
  std::unordered_map<slot_id, extent> slots_;
  slot_id next_slot_ = 0;
  std::uint64_t slot_bytes_ = 0;
  std::unordered_map<transfer_id, transfer_info> transfers_;
  transfer_id next_transfer_ = 0;
  store_stats started_;
  transfer_board board_;
  std::unique_ptr<io_queue> queue_;  // after the file and the board, which it uses until it ends
  std::uint64_t process_;
  fork_hook hook_;
};

void file_store::check_process() const {
  HALOCLINE_EXPECTS(process_ == process_generation(), io_error,
                    "file tier: the process that made it was forked; make a new engine in the child");
}

bool file_store::come_to_rest(fork_deadline until) {
  if (queue_->pause(until)) return true;
  queue_->resume();
  return false;
}

std::string file_store::describe() const {
  return text("file in ", file_.folder().string(), " (",
              file_.direct()      ? "direct I/O"
              : file_.in_memory() ? "which is in memory"
                                  : "through the page cache",
              ", ", queue_->name(), ", queue depth ", options_.queue_depth, ", chunks of ",
              format_bytes(options_.chunk_bytes), ")");
}

slot_id file_store::allocate(std::size_t bytes) {
  check_process();
  HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0, invalid_argument, "file tier: a slot of ", bytes,
                    " bytes; the size must be a multiple of ", page_bytes);
  std::optional<std::uint64_t> offset = unused_.take(bytes);
  if (!offset) {
    grow_for(bytes);
    offset = unused_.take(bytes);
  }
  slots_.emplace(next_slot_, extent{*offset, bytes, std::vector<std::uint64_t>(bytes / page_bytes)});
  slot_bytes_ += bytes;
  return next_slot_++;
}

void file_store::free(slot_id slot) noexcept {
  const auto found = slots_.find(slot);
  if (found == slots_.end()) return;
  const extent gone = std::move(found->second);
  slots_.erase(found);
  slot_bytes_ -= gone.bytes;
  try {
    unused_.give(gone.offset, gone.bytes);
  } catch (...) {  // no memory for the list entry: this part of the file is not used again
  }
}

/// Lengthens the file until an unused part of `bytes` bytes ends it.
void file_store::grow_for(std::uint64_t bytes) {
  const std::uint64_t least = file_bytes_ + bytes - unused_.bytes_before(file_bytes_);
  const std::uint64_t limit = options_.capacity_bytes / page_bytes * page_bytes;
  if (options_.capacity_bytes != 0 && least > limit) throw_full(bytes, 0);
  std::uint64_t end = std::max(least, file_bytes_ + growth_bytes);
  if (options_.capacity_bytes != 0) end = std::min(end, limit);
  int error = file_.grow(file_bytes_, end);
  if (error != 0 && end > least) {
    end = least;
    error = file_.grow(file_bytes_, end);
  }
  if (error != 0) throw_full(bytes, error);
  const std::uint64_t begin = file_bytes_;
  file_bytes_ = end;
  unused_.give(begin, end - begin);
}

void file_store::throw_full(std::uint64_t bytes, int error) const {
  const std::string why =
      error == 0 ? "the limit of " + format_bytes(options_.capacity_bytes) + " is reached" : reason_of(error);
  throw io_error(text("file tier in '", file_.folder().string(), "': no room for ", format_bytes(bytes), " (",
                      bytes, " bytes): ", why, "; ", format_bytes(slot_bytes_), " are in use, ",
                      format_bytes(unused_.total()), " unused in parts of at most ",
                      format_bytes(unused_.largest()), ". ",
                      error == 0 ? "Raise the limit" : "Free space there, choose a folder on another disk",
                      ", or raise the memory budget so that less is moved there"));
}

transfer_id file_store::start(slot_id slot, std::size_t offset, std::byte* frame, std::size_t bytes,
                              bool write) {
  check_process();
  const auto found = slots_.find(slot);
  HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, "file tier: no slot ", slot);
  const std::size_t room = found->second.bytes;
  HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0 && offset % page_bytes == 0 && offset <= room &&
                        bytes <= room - offset,
                    invalid_argument, "file tier: a transfer of ", bytes, " bytes at ", offset,
                    "; the slot has ", room, ", and sizes are multiples of ", page_bytes);
  HALOCLINE_EXPECTS(reinterpret_cast<std::uintptr_t>(frame) % page_bytes == 0, invalid_argument,
                    "file tier: a frame must be aligned to ", page_bytes, " bytes");
  const transfer_id id = next_transfer_++;
  std::uint64_t* const checksums = found->second.checksums.data() + offset / page_bytes;
  if (write) std::fill_n(checksums, bytes / page_bytes, 0);  // what a failed write leaves is not to be read
  std::vector<io_request> requests;
  for (std::size_t at = 0; at < bytes; at += options_.chunk_bytes) {
    requests.push_back({file_.descriptor(), write, found->second.offset + offset + at, frame + at,
                        std::min(options_.chunk_bytes, bytes - at), id, checksums + at / page_bytes});
  }
  try {
    transfers_.emplace(id, transfer_info{write, found->second.offset + offset, bytes});
    board_.begin(id, write, requests.size());
    queue_->submit(requests);
  } catch (...) {
    board_.cancel(id);
    transfers_.erase(id);
    throw;
  }
  ++(write ? started_.writes : started_.reads);
  (write ? started_.written_bytes : started_.read_bytes) += bytes;
  return id;
}

void file_store::wait(transfer_id transfer) {
  check_process();
  const auto found = transfers_.find(transfer);
  HALOCLINE_EXPECTS(found != transfers_.end(), invalid_argument, "file tier: no transfer ", transfer);
  if (!board_.has_ended(transfer)) queue_->prioritize(transfer);
  const transfer_board::outcome result = board_.wait(transfer);
  const transfer_info info = found->second;
  transfers_.erase(found);
  if (result.error != 0) throw_failed(info, result);
}

void file_store::throw_failed(const transfer_info& what, const transfer_board::outcome& how) const {
  const std::string message = text(
      "file tier in '", file_.folder().string(), "': ", what.write ? "write of " : "read of ", what.bytes,
      " bytes at offset ", what.offset, " moved ", how.moved, " and failed at offset ", how.at, ": ",
      reason_of(how.error), "; check the disk's health", what.write ? " and free space" : "");
  if (how.error == io_end_of_file || how.error == wrong_bytes) throw corrupt_data(message);
  throw io_error(message);
}

store_stats file_store::statistics() const {
  store_stats result = started_;
  result.slots = slots_.size();
  result.slot_bytes = slot_bytes_;
  result.read_busy_ns = board_.busy_ns(false);
  result.written_busy_ns = board_.busy_ns(true);
  return result;
}

}  // namespace

std::unique_ptr<store> make_file_store(const file_store_options& options) {
  return std::make_unique<file_store>(options);
}

}  // namespace halocline::memory
