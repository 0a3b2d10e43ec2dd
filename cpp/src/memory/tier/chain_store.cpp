// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/chain_store.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/tier/padded_read.hpp"
#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

/// Copies of remote contents on their way to the file, past memory, take so much at once.
constexpr std::size_t staging_bytes = std::size_t{64} << 20;
/// When memory is full this part of it moves to the file at once, so that the file is kept busy.
constexpr std::size_t sink_part = 16;

/// Raises a number of uses for a scope.
class use_in_scope {
 public:
  explicit use_in_scope(unsigned& uses) : uses_(uses) { ++uses_; }
  ~use_in_scope() { --uses_; }
  use_in_scope(const use_in_scope&) = delete;
  use_in_scope& operator=(const use_in_scope&) = delete;

 private:
  unsigned& uses_;
};

}  // namespace

chain_store::chain_store(const chain_options& options)
    : options_(options), remote_(std::clamp(options.requests, 1U, 64U)) {
  HALOCLINE_EXPECTS(options.requests >= 1 && options.requests <= 64, invalid_argument,
                    "chain of tiers: ", options.requests, " requests in flight; expected 1 to 64");
  HALOCLINE_EXPECTS(options.memory_bytes != 0 || options.file, invalid_argument,
                    "chain of tiers: neither memory nor a file; give one of them room");
}

chain_store::~chain_store() {
  while (!transfers_.empty()) {
    try {
      wait(transfers_.begin()->first);
    } catch (const std::exception&) {  // the bytes are no longer needed
    }
  }
  for (auto& [id, each] : slots_) {
    if (each.sinking) {
      try {
        options_.file->wait(*each.sinking);
      } catch (const std::exception&) {  // the bytes are no longer needed
      }
    }
    drop_block(each.held);
  }
}

std::string_view chain_store::name() const noexcept {
  return has_memory() ? std::string_view("memory") : options_.file->name();
}

std::string chain_store::describe() const {
  if (!has_memory()) return options_.file->describe();
  const std::string near = text("host memory (at most ", format_bytes(options_.memory_bytes), ")");
  return options_.file ? near + ", then " + options_.file->describe() : near;
}

chain_store::slot& chain_store::at(slot_id id) {
  const auto found = slots_.find(id);
  HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, name(), " tier: no slot ", id);
  return found->second;
}

void chain_store::check_part(const slot& of, std::size_t offset, std::size_t bytes,
                             const std::byte* frame) const {
  HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0 && offset % page_bytes == 0 && offset <= of.bytes &&
                        bytes <= of.bytes - offset,
                    invalid_argument, name(), " tier: a transfer of ", bytes, " bytes at ", offset,
                    "; the slot has ", of.bytes, ", and sizes are multiples of ", page_bytes);
  HALOCLINE_EXPECTS(reinterpret_cast<std::uintptr_t>(frame) % page_bytes == 0, invalid_argument, name(),
                    " tier: a frame must be aligned to ", page_bytes, " bytes");
}

transfer_id chain_store::add(const transfer& started) {
  transfers_.emplace(next_transfer_, started);
  return next_transfer_++;
}

// Slots

slot_id chain_store::allocate(std::size_t bytes) {
  HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0, invalid_argument, name(), " tier: a slot of ",
                    bytes, " bytes; the size must be a multiple of ", page_bytes);
  const slot_id id = next_slot_;
  slot& made = slots_[id];
  made.bytes = bytes;
  try {
    give_place(id, made);
  } catch (...) {
    slots_.erase(id);
    throw;
  }
  ++stats_.slots;
  stats_.slot_bytes += bytes;
  return next_slot_++;
}

/// Room for all bytes of a slot that will be written.
void chain_store::give_place(slot_id id, slot& of) {
  if (has_memory() && make_room(of.bytes)) return hold(id, of, take_block(of.bytes, false));
  HALOCLINE_EXPECTS(options_.file, io_error, "memory tier: no room for ", format_bytes(of.bytes), " (",
                    of.bytes, " bytes): the limit of ", format_bytes(options_.memory_bytes), " is reached, ",
                    format_bytes(memory_used_), " are in use. Raise the limit, or give the chain a file");
  of.below = take_below(of.bytes);
  of.below_bytes = of.bytes;
}

slot_id chain_store::adopt(std::shared_ptr<const remote_contents> contents, std::size_t bytes) {
  HALOCLINE_EXPECTS(contents && bytes % page_bytes == 0 && contents->bytes() != 0 &&
                        contents->bytes() <= bytes && bytes - contents->bytes() < page_bytes,
                    invalid_argument, "chain of tiers: remote contents of ", contents ? contents->bytes() : 0,
                    " bytes for a slot of ", bytes, "; expected a slot of whole pages that hold them");
  slot& made = slots_[next_slot_];
  made.bytes = bytes;
  made.remote = std::move(contents);
  ++stats_.slots;
  stats_.slot_bytes += bytes;
  return next_slot_++;
}

void chain_store::free(slot_id id) noexcept {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  slot& gone = found->second;
  try {
    if (gone.sinking) finish_sinking(id);
  } catch (const std::exception&) {  // the bytes are no longer needed
  }
  drop_held(gone);
  drop_below(gone);
  --stats_.slots;
  stats_.slot_bytes -= gone.bytes;
  slots_.erase(found);
}

void chain_store::forget_copies(slot_id id) {
  slot& of = at(id);
  if (!of.remote) return;
  if (of.sinking) finish_sinking(id);
  if (of.held_uses == 0) drop_held(of);
  if (of.below_uses == 0) drop_below(of);
}

bool chain_store::is_renewable(slot_id id) const noexcept {
  const auto found = slots_.find(id);
  return found != slots_.end() && found->second.remote != nullptr;
}

/// Room in the file, for which copies of remote contents are dropped.
slot_id chain_store::take_below(std::size_t bytes) {
  for (;;) {
    try {
      return options_.file->allocate(bytes);
    } catch (const io_error&) {
      const auto unused = std::ranges::find_if(copies_, [this](slot_id id) {
        const slot& each = slots_.at(id);
        return each.below_uses == 0 && !each.sinking;
      });
      if (unused == copies_.end()) throw;
      drop_below(slots_.at(*unused));
    }
  }
}

void chain_store::drop_below(slot& of) noexcept {
  if (of.below == no_slot) return;
  if (of.remote && of.below_bytes != 0) {
    copies_.erase(of.copied);
    copied_bytes_ -= of.below_bytes;
  }
  options_.file->free(std::exchange(of.below, no_slot));
  of.below_bytes = 0;
}

/// Notes that the file has the first bytes of remote contents.
void chain_store::note_copy(slot_id id, slot& of) {
  of.below_bytes = of.held.bytes;
  if (!of.remote) return;
  of.copied = copies_.insert(copies_.end(), id);
  copied_bytes_ += of.below_bytes;
}

// Memory

chain_store::block chain_store::take_block(std::size_t bytes, bool staged) {
  std::byte* const data = map_pages(bytes);
  HALOCLINE_EXPECTS(data != nullptr, io_error, "memory tier: the system has no ", format_bytes(bytes), " (",
                    bytes, " bytes) left; use a smaller tier in memory");
  (staged ? staged_used_ : memory_used_) += bytes;
  return {data, bytes, staged};
}

void chain_store::drop_block(block& gone) noexcept {
  if (gone.data == nullptr) return;
  unmap_pages(gone.data, gone.bytes);
  (gone.is_staged ? staged_used_ : memory_used_) -= gone.bytes;
  gone = {};
}

void chain_store::drop_held(slot& of) noexcept {
  if (of.held.data == nullptr) return;
  order_.erase(of.order);
  drop_block(of.held);
}

/// Makes a block the copy of a slot in memory, in place of a shorter one.
void chain_store::hold(slot_id id, slot& of, const block& made) {
  drop_held(of);
  of.held = made;
  of.order = order_.insert(order_.end(), id);
}

/// Whether `bytes` more fit into memory, after others have left.
bool chain_store::make_room(std::size_t bytes) {
  if (bytes > options_.memory_bytes) return false;
  const std::size_t batch = std::max(bytes, options_.memory_bytes / sink_part);
  while (memory_used_ + bytes > options_.memory_bytes) {
    if (!sinking_.empty()) {
      finish_sinking(sinking_.front());
      continue;
    }
    std::size_t left = 0;
    for (auto next = order_.begin(); next != order_.end() && left < batch;) {
      const slot_id id = *next++;
      const std::size_t size = slots_.at(id).held.bytes;
      if (leave_memory(id)) left += size;
    }
    if (left == 0) return false;
  }
  return true;
}

/// Whether `bytes` more may be on their way to the file, after others have arrived.
bool chain_store::make_staging_room(std::size_t bytes) {
  while (staged_used_ + bytes > staging_bytes) {
    if (sinking_.empty()) return false;
    finish_sinking(sinking_.front());
  }
  return true;
}

/// Drops the copy of a slot in memory, or starts moving it to the file. False: it must stay.
bool chain_store::leave_memory(slot_id id) {
  slot& each = slots_.at(id);
  if (each.held_uses != 0 || each.sinking) return false;
  if (each.below_bytes < each.held.bytes && options_.file && each.below_uses == 0) {
    try {
      start_sinking(id, each);
      return true;
    } catch (const io_error&) {  // the file is full: what is remote need not be there
      if (!each.remote) throw;
    }
  }
  if (each.below_bytes < each.held.bytes && !each.remote) return false;
  drop_held(each);
  return true;
}

void chain_store::start_sinking(slot_id id, slot& of) {
  drop_below(of);
  of.below = take_below(of.remote ? of.held.bytes : of.bytes);
  try {
    of.sinking = options_.file->write(of.below, of.held.data, of.held.bytes);
    sinking_.push_back(id);
  } catch (...) {
    drop_below(of);
    throw;
  }
}

void chain_store::finish_sinking(slot_id id) {
  slot& each = slots_.at(id);
  std::erase(sinking_, id);
  const transfer_id writing = *std::exchange(each.sinking, std::nullopt);
  try {
    options_.file->wait(writing);
  } catch (...) {
    drop_below(each);
    if (!each.remote) throw;  // it stays in memory
    return drop_held(each);
  }
  note_copy(id, each);
  if (each.held_uses == 0) drop_held(each);
}

/// Frees the memory of what has arrived in the file.
void chain_store::reap_sinking() {
  while (!sinking_.empty() && options_.file->poll(*slots_.at(sinking_.front()).sinking)) {
    try {
      finish_sinking(sinking_.front());
    } catch (const io_error&) {  // it stays in memory, from where others must leave instead
    }
  }
}

// Transfers

chain_store::tier chain_store::source_of(const slot& of, std::size_t end) const noexcept {
  if (of.held.bytes >= end) return tier::memory;
  if (of.below_bytes >= end || !of.remote) return tier::file;
  return tier::remote;
}

/// A block in which a read from a farther tier leaves the first bytes of a slot; nothing where they have no
/// room, or would have a gap.
chain_store::block chain_store::prepare_copy(slot_id id, std::size_t offset, std::size_t bytes) {
  slot& of = slots_.at(id);
  const std::size_t start = offset == 0 ? 0 : of.held.bytes;
  if (of.sinking || of.held_uses != 0 || offset > start) return {};
  const std::size_t end = offset + bytes;
  // The read needs what this slot has in memory and in the file: others must leave.
  const use_in_scope held(of.held_uses), below(of.below_uses);
  try {
    if (has_memory() && make_room(end)) return take_block(end, false);
    const bool goes_to_file = options_.file && of.remote && of.below_bytes < end;
    if (goes_to_file && make_staging_room(end)) return take_block(end, true);
  } catch (const io_error&) {  // a copy is no necessity
  }
  return {};
}

transfer_id chain_store::read_from(slot_id id, std::size_t offset, std::byte* frame, std::size_t bytes) {
  reap_sinking();
  slot& from = at(id);
  check_part(from, offset, bytes, frame);
  if (from.held.is_staged && from.sinking) finish_sinking(id);  // it is not there to be read
  transfer started{source_of(from, offset + bytes), false, id, 0, frame, offset, bytes, {}};
  if (started.from == tier::memory) {
    order_.splice(order_.end(), order_, from.order);
    const std::byte* const data = from.held.data + offset;
    copies_in_memory_.start(next_transfer_, bytes, [=] { std::memcpy(frame, data, bytes); });
    ++from.held_uses;
    return add(started);
  }
  started.kept = prepare_copy(id, offset, bytes);
  try {
    if (started.from == tier::remote) {
      start_remote(next_transfer_, started, from);
    } else {
      if (from.remote) copies_.splice(copies_.end(), copies_, from.copied);
      started.below = options_.file->read_from(from.below, offset, frame, bytes);
      ++from.below_uses;
    }
  } catch (...) {
    drop_block(started.kept);
    throw;
  }
  if (started.kept.data != nullptr) ++from.held_uses;
  return add(started);
}

/// The thread that reads leaves the copy, so that no step waits for that.
void chain_store::start_remote(transfer_id id, transfer& of, const slot& from) {
  const auto copy = [contents = from.remote, begin = from.held.data, to = of.kept.data, frame = of.frame,
                     offset = of.offset, bytes = of.bytes] {
    read_padded(*contents, offset, frame, bytes);
    if (to == nullptr) return;
    if (offset != 0) std::memcpy(to, begin, offset);
    std::memcpy(to + offset, frame, bytes);
  };
  remote_.start(id, of.bytes, copy);
}

transfer_id chain_store::write(slot_id id, const std::byte* frame, std::size_t bytes) {
  reap_sinking();
  slot& to = at(id);
  check_part(to, 0, bytes, frame);
  if (to.sinking) finish_sinking(id);
  if (to.remote) {  // other contents from now on
    HALOCLINE_EXPECTS(to.held_uses == 0 && to.below_uses == 0, invalid_argument, name(),
                      " tier: a write to a slot that is being read; wait for the read first");
    drop_held(to);
    drop_below(to);
    to.remote.reset();
  }
  if (to.held.bytes < to.bytes && to.below == no_slot) give_place(id, to);
  transfer started{tier::memory, true, id, 0, nullptr, 0, bytes, {}};
  if (to.held.bytes == to.bytes) {
    order_.splice(order_.end(), order_, to.order);
    drop_below(to);
    std::byte* const data = to.held.data;
    writes_to_memory_.start(next_transfer_, bytes, [=] { std::memcpy(data, frame, bytes); });
    ++to.held_uses;
    ++stats_.writes;
    stats_.written_bytes += bytes;
  } else {
    drop_held(to);
    started.from = tier::file;
    started.below = options_.file->write(to.below, frame, bytes);
    to.below_bytes = to.bytes;
    ++to.below_uses;
  }
  return add(started);
}

bool chain_store::poll(transfer_id id) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return true;
  const transfer& each = found->second;
  if (each.from == tier::file) return options_.file->poll(each.below);
  if (each.from == tier::remote) return remote_.has_ended(id);
  return (each.write ? writes_to_memory_ : copies_in_memory_).has_ended(id);
}

void chain_store::wait(transfer_id id) {
  const auto found = transfers_.find(id);
  HALOCLINE_EXPECTS(found != transfers_.end(), invalid_argument, name(), " tier: no transfer ", id);
  transfer ended = found->second;
  transfers_.erase(found);
  slot& of = slots_.at(ended.of);
  if (ended.from == tier::file) {
    --of.below_uses;
  } else if (ended.from == tier::memory) {
    --of.held_uses;
  }
  if (ended.kept.data != nullptr) --of.held_uses;
  try {
    if (ended.from == tier::file) {
      options_.file->wait(ended.below);
    } else if (ended.from == tier::remote) {
      remote_.wait(id);
    } else {
      (ended.write ? writes_to_memory_ : copies_in_memory_).wait(id);
    }
  } catch (const error&) {
    drop_block(ended.kept);
    if (ended.from != tier::file || ended.write || !of.remote) throw;
    return read_again(ended);
  }
  keep_copy(ended);
}

/// The file has lost a copy of remote contents.
void chain_store::read_again(transfer& of) {
  slot& from = slots_.at(of.of);
  if (from.below_uses == 0) drop_below(from);
  const transfer_id id = next_transfer_++;
  start_remote(id, of, from);
  remote_.wait(id);
}

/// Makes what a read has left in memory the copy of its slot.
void chain_store::keep_copy(transfer& ended) {
  if (ended.kept.data == nullptr) return;
  slot& of = slots_.at(ended.of);
  if (ended.from == tier::file) {
    if (ended.offset != 0) std::memcpy(ended.kept.data, of.held.data, ended.offset);
    std::memcpy(ended.kept.data + ended.offset, ended.frame, ended.bytes);
  }
  // Another read may have left a longer copy meanwhile, which others may use.
  const bool is_in_use = of.held_uses != 0 || of.sinking || (ended.kept.is_staged && of.below_uses != 0);
  if (is_in_use || of.held.bytes >= ended.kept.bytes) return drop_block(ended.kept);
  if (ended.kept.is_staged && of.below_bytes >= ended.kept.bytes) return drop_block(ended.kept);
  hold(ended.of, of, ended.kept);
  if (!ended.kept.is_staged) return;
  try {
    start_sinking(ended.of, of);
  } catch (const io_error&) {  // the file is full
    drop_held(of);
  }
}

void chain_store::trim() noexcept {
  if (options_.file) options_.file->trim();
}

std::unique_ptr<store> make_chain_store(const chain_options& options) {
  return std::make_unique<chain_store>(options);
}

}  // namespace halocline::memory
