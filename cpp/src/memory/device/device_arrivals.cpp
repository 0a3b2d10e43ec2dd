// SPDX-License-Identifier: Apache-2.0
// Remote contents on their way to an accelerator: they arrive in pinned memory on threads, and stay there.
#include <algorithm>
#include <exception>
#include <utility>

#include "halocline/core/expects.hpp"
#include "memory/device/device_store.hpp"
#include "memory/tier/padded_read.hpp"

namespace halocline::memory {

slot_id device_store::adopt(std::shared_ptr<const remote_contents> contents, std::size_t bytes) {
  HALOCLINE_EXPECTS(contents && bytes % page_bytes == 0 && contents->bytes() != 0 &&
                        contents->bytes() <= bytes && bytes - contents->bytes() < page_bytes,
                    invalid_argument, "pinned tier: remote contents of ", contents ? contents->bytes() : 0,
                    " bytes for a slot of ", bytes, "; expected a slot of whole pages that hold them");
  slot& made = slots_[next_slot_];
  made.bytes = bytes;
  made.remote = std::move(contents);
  ++stats_.slots;
  stats_.slot_bytes += bytes;
  return next_slot_++;
}

bool device_store::is_renewable(slot_id id) const noexcept {
  const auto found = slots_.find(id);
  return found != slots_.end() && found->second.remote != nullptr;
}

std::vector<std::uint64_t> device_store::copies_of(slot_id id) const {
  const auto found = slots_.find(id);
  HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, "pinned tier: no slot ", id);
  const slot& of = found->second;
  if (!of.remote) return {of.pinned ? of.bytes : 0, of.below != no_slot ? of.bytes : 0};
  return {of.held, of.below_bytes};
}

std::vector<link_stats> device_store::links() const {
  const store_stats moved = statistics();
  std::vector<link_stats> list(1);
  link_stats& pinned = list.front();
  pinned.name = name();
  pinned.capacity_bytes = options_.pinned_bytes;
  pinned.held_bytes = pinned_.used_bytes();
  pinned.reads = moved.reads - arrived_reads_;
  pinned.read_bytes = moved.read_bytes - arrived_bytes_;
  pinned.writes = moved.writes;
  pinned.written_bytes = moved.written_bytes;
  // All copies of this lane take the same time for a byte.
  if (moved.read_bytes != 0) {
    const double share = static_cast<double>(pinned.read_bytes) / static_cast<double>(moved.read_bytes);
    pinned.read_busy_ns = static_cast<std::uint64_t>(share * static_cast<double>(moved.read_busy_ns));
  }
  link_stats file;
  if (options_.overflow) file = options_.overflow->links().front();
  if (!options_.overflow) file.name = "file";
  list.push_back(file);
  link_stats& remote = list.emplace_back();
  remote.name = "remote";
  remote_.report(remote);
  return list;
}

bool device_store::is_idle() {
  mark_reads();
  look_for_arrivals();
  return last_load_ == 0 || device_->passed(lane::load, last_load_);
}

// Room

/// Room in the other store, for which copies of remote contents are dropped.
slot_id device_store::take_below(std::size_t bytes) {
  for (;;) {
    try {
      return options_.overflow->allocate(bytes);
    } catch (const io_error&) {
      const auto unused = std::find_if(slots_.begin(), slots_.end(), [](const auto& each) {
        const slot& of = each.second;
        return of.remote && of.below != no_slot && !of.sinking && !of.arriving;
      });
      if (unused == slots_.end()) throw;
      forget_below(unused->second.below);
      unused->second.below_bytes = 0;
    }
  }
}

/// Drops pinned bytes of remote contents that another tier has, or that may be read again. False: they must
/// go to the other store first.
bool device_store::drop_pinned(slot_id id) {
  mark_reads();
  slot& of = at(id);
  if (!of.remote || !of.pinned || of.sinking) return false;
  if (options_.sinks_remote && options_.overflow && of.below_bytes < of.held) return false;
  unlist(of);
  pinned_.give(*std::exchange(of.pinned, std::nullopt), {of.read, of.written});
  of.held = 0;
  return true;
}

void device_store::forget_copies(slot_id id) {
  slot& of = at(id);
  if (!of.remote) return;
  while (of.arriving) finish_arrival(id);
  if (of.sinking) finish_sinking(id);
  forget_below(of.below);
  of.below_bytes = 0;
  if (!of.pinned) return;
  mark_reads();
  unlist(of);
  pinned_.give(*std::exchange(of.pinned, std::nullopt), {of.read, of.written});
  of.held = 0;
}

/// Something is about to be written in place of remote contents.
void device_store::renounce(slot_id id) {
  forget_copies(id);
  at(id).remote.reset();
}

// Arrivals

void device_store::fetch(slot_id id, std::size_t bytes) {
  look_for_arrivals();
  const slot& of = at(id);
  bytes = std::min((bytes + page_bytes - 1) / page_bytes * page_bytes, of.bytes);
  if (!of.remote || bytes == 0 || of.held >= bytes || of.arriving) return;
  start_arrival(id, bytes);
}

transfer_id device_store::read_adopted(slot_id id, std::size_t offset, transfer started) {
  const std::size_t end = offset + started.bytes;
  for (;;) {
    slot& from = at(id);
    if (from.held >= end) {
      if (!from.sinking) enlist(id, from);
      return read_pinned(id, offset, started);
    }
    if (!from.arriving) {
      start_arrival(id, end);
    } else if (from.arriving->bytes < end) {
      finish_arrival(id);
    } else {
      started.awaits = id;
      started.offset = offset;
      from.arriving->waiting.push_back(next_transfer_);
      transfers_.emplace(next_transfer_, started);
      return next_transfer_++;
    }
  }
}

/// Begins to read the first bytes of a slot into pinned memory, from the nearest tier that has them.
void device_store::start_arrival(slot_id id, std::size_t bytes) {
  const pinned_slabs::block into = take_block(bytes);
  slot& of = at(id);
  arrival coming;
  coming.into = into;
  coming.bytes = bytes;
  coming.is_remote = of.below == no_slot || of.below_bytes < bytes;
  try {
    arrivals_.push_back(id);
    const fence behind = pinned_.behind(into);
    device_->wait(lane::load, behind.load);
    device_->wait(lane::save, behind.save);
    std::byte* const to = pinned_.data(into);
    if (coming.is_remote) {
      coming.reading = next_arrival_++;
      remote_.start(coming.reading, bytes,
                    [from = of.remote, to, bytes] { read_padded(*from, 0, to, bytes); });
    } else {
      coming.reading = options_.overflow->read(of.below, to, bytes);
    }
  } catch (...) {
    std::erase(arrivals_, id);
    pinned_.give(into, {});
    throw;
  }
  of.arriving = std::move(coming);
}

bool device_store::has_arrived(const slot& of) {
  if (!of.arriving) return true;
  return of.arriving->is_remote ? remote_.has_ended(of.arriving->reading)
                                : options_.overflow->poll(of.arriving->reading);
}

/// Queues the copies of what has arrived meanwhile. The oldest reads end first, more or less.
void device_store::look_for_arrivals() {
  const std::size_t window = 2 * std::size_t{remote_.most()};
  for (std::size_t i = 0, looked = 0; i < arrivals_.size() && looked < window; ++looked) {
    const slot_id id = arrivals_[i];
    if (has_arrived(at(id))) {
      finish_arrival(id);
    } else {
      ++i;
    }
  }
}

bool device_store::finish_oldest_arrival() {
  if (arrivals_.empty()) return false;
  finish_arrival(arrivals_.front());
  return true;
}

/// Waits until the contents of a slot have arrived, and queues what waits for them. Errors are those of the
/// transfers that wait.
void device_store::finish_arrival(slot_id id) {
  slot& of = at(id);
  arrival came = *std::exchange(of.arriving, std::nullopt);
  std::erase(arrivals_, id);
  std::exception_ptr failure;
  try {
    if (came.is_remote) {
      remote_.wait(came.reading);
    } else {
      options_.overflow->wait(came.reading);
    }
    keep_arrived(id, came);
  } catch (const std::exception&) {
    failure = std::current_exception();
    pinned_.give(came.into, {});
  }
  if (failure && !came.is_remote) {  // the other store has lost its copy: it is read from afar again
    forget_below(of.below);
    of.below_bytes = 0;
    try {
      start_arrival(id, came.bytes);
      at(id).arriving->waiting = std::move(came.waiting);
      return;
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  }
  deliver(id, came, failure);
}

/// Makes what has arrived the pinned copy of its slot, in place of a shorter one.
void device_store::keep_arrived(slot_id id, const arrival& came) {
  slot& of = at(id);
  if (of.sinking) finish_sinking(id);
  unlist(of);
  if (of.pinned) {
    mark_reads();
    pinned_.give(*of.pinned, {of.read, of.written});
  }
  of.pinned = came.into;
  of.held = came.bytes;
  of.written = 0;
  enlist(id, of);
}

void device_store::deliver(slot_id id, const arrival& came, const std::exception_ptr& failure) {
  for (const transfer_id each : came.waiting) {
    const auto found = transfers_.find(each);
    if (found == transfers_.end()) continue;
    transfer& waits = found->second;
    waits.awaits.reset();
    waits.failure = failure;
    if (failure) continue;
    try {
      slot& from = at(id);
      queue_load(waits.frame, pinned_.data(*from.pinned) + waits.offset, waits.bytes, waits.after);
      ++arrived_reads_;
      arrived_bytes_ += waits.bytes;
      waits.end = from.read = last_load_ = device_->mark(lane::load);
    } catch (const std::exception&) {
      waits.failure = std::current_exception();
    }
  }
}

/// Of a slot that is being freed: its bytes arrive without it.
void device_store::cancel_arrival(slot& gone) noexcept {
  const arrival& came = *gone.arriving;
  leftovers_.push_back({came.reading, came.into, came.is_remote ? no_slot : gone.below, {}, came.is_remote});
  for (const transfer_id each : came.waiting) {
    const auto found = transfers_.find(each);
    if (found == transfers_.end()) continue;
    found->second.awaits.reset();
    found->second.failure = std::make_exception_ptr(io_error("pinned tier: the slot was freed"));
  }
}

}  // namespace halocline::memory
