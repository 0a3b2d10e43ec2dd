// SPDX-License-Identifier: Apache-2.0
#include "memory/device/device_store.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "halocline/core/clock.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"

namespace halocline::memory {
namespace {

/// When pinned memory is full this part of it is written to the other store at once, so that this store is
/// kept busy.
constexpr std::size_t sink_part = 16;
/// One of so many copies, and of the waits for them, is timed.
constexpr std::size_t timed_copies = 32;
constexpr std::size_t timed_waits = 8;
/// Reads of a group share a mark until they are so many bytes: 75 us of a link of PCI Express 5.
constexpr std::size_t group_bytes = std::size_t{4} << 20;

}  // namespace

device_store::device_store(std::shared_ptr<device_memory> device, device_store_options options)
    : device_(std::move(device)),
      options_(std::move(options)),
      pinned_(device_, options_.pinned_bytes, options_.slab_bytes),
      reads_(device_, lane::load, timed_copies),
      writes_(device_, lane::save, timed_copies),
      stalls_(device_, lane::compute, timed_waits),
      remote_(std::clamp(options_.requests, 1U, 64U)) {}

device_store::~device_store() {
  clear_leftovers(true);
  for (auto& [id, each] : slots_) {
    try {
      if (each.sinking) options_.overflow->wait(*each.sinking);
      if (each.arriving && !each.arriving->is_remote) options_.overflow->wait(each.arriving->reading);
    } catch (const std::exception&) {  // the bytes are no longer wanted
    }
  }
  try {
    device_->wait(lane::load, device_->mark(lane::load));
    device_->wait(lane::save, device_->mark(lane::save));
  } catch (const std::exception&) {  // a lost device copies nothing any more
  }
}

std::string device_store::describe() const {
  return text("pinned host memory (at most ", format_bytes(options_.pinned_bytes), ")",
              options_.overflow ? ", then " + options_.overflow->describe() : std::string());
}

// Slots

device_store::slot& device_store::at(slot_id id) {
  const auto found = slots_.find(id);
  HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, "pinned tier: no slot ", id);
  return found->second;
}

slot_id device_store::allocate(std::size_t bytes) {
  HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0, invalid_argument, "pinned tier: a slot of ", bytes,
                    " bytes; the size must be a multiple of ", page_bytes);
  slot made;
  made.bytes = bytes;
  made.pinned = take_block(bytes);
  slots_.emplace(next_slot_, made);
  ++stats_.slots;
  stats_.slot_bytes += bytes;
  return next_slot_++;
}

pinned_slabs::block device_store::take_block(std::size_t bytes) {
  clear_leftovers(false);
  for (;;) {
    if (const auto block = pinned_.take(bytes)) return *block;
    if (sink_some(bytes) || finish_rising() || finish_oldest_arrival()) continue;
    if (leftovers_.empty()) break;
    clear_leftovers(true);
  }
  pinned_.trim();  // slabs that are empty, but too small
  if (const auto block = pinned_.take(bytes)) return *block;
  throw_full(bytes);
}

/// Ends the read of the other store that holds pinned memory for the longest time. False: there is none.
bool device_store::finish_rising() {
  transfer* oldest = nullptr;
  transfer_id first = next_transfer_;
  for (auto& [id, each] : transfers_) {
    if (!each.rising || id >= first) continue;
    first = id;
    oldest = &each;
  }
  if (oldest == nullptr) return false;
  try {
    queue_staged(*oldest);
  } catch (const error&) {
    oldest->failure = std::current_exception();
  }
  return true;
}

void device_store::throw_full(std::size_t bytes) const {
  throw io_error(text("pinned tier: no room for ", format_bytes(bytes), " (", bytes, " bytes): ",
                      format_bytes(pinned_.used_bytes()), " of at most ", format_bytes(pinned_.limit()),
                      " pinned bytes are in use", options_.overflow ? " and cannot move on" : "",
                      ". Raise the limit of pinned memory or the memory budget"));
}

void device_store::enlist(slot_id id, slot& of) {
  unlist(of);
  of.order = order_.insert(order_.end(), id);
}

void device_store::unlist(slot& of) noexcept {
  if (of.order) order_.erase(*of.order);
  of.order.reset();
}

/// Frees `bytes` bytes: starts moving slots to the other store, waits for the first. False: there is nothing
/// to move.
bool device_store::sink_some(std::size_t bytes) {
  std::size_t started = 0;
  bool dropped = false;
  const std::size_t wanted = std::max(bytes, options_.pinned_bytes / sink_part);
  for (const slot_id id : sinking_) started += at(id).bytes;
  for (auto next = order_.begin(); next != order_.end() && started < wanted;) {
    const slot_id id = *next++;
    const std::size_t held = at(id).held;
    if (drop_pinned(id)) {
      started += held;
      dropped = true;
      continue;
    }
    if (!options_.overflow) continue;
    try {
      start_sinking(id);
    } catch (const io_error&) {  // the moves that have been started may be enough
      if (sinking_.empty() && !dropped) throw;
      break;
    }
    started += at(id).bytes;
  }
  if (dropped || sinking_.empty()) return dropped;
  finish_sinking(sinking_.front());
  return true;
}

void device_store::start_sinking(slot_id id) {
  mark_reads();
  slot& each = at(id);
  const std::size_t bytes = each.remote ? each.held : each.bytes;
  forget_below(each.below);
  each.below_bytes = 0;
  each.below = take_below(bytes);
  sinking_.push_back(id);
  try {
    device_->wait(lane::save, each.written);
    each.sinking = options_.overflow->write(each.below, pinned_.data(*each.pinned), bytes);
  } catch (...) {
    sinking_.pop_back();
    forget_below(each.below);
    throw;
  }
  unlist(each);
}

void device_store::finish_sinking(slot_id id) {
  slot& each = at(id);
  std::erase(sinking_, id);
  const transfer_id writing = *std::exchange(each.sinking, std::nullopt);
  try {
    options_.overflow->wait(writing);
  } catch (...) {  // the bytes stay where they are
    forget_below(each.below);
    enlist(id, each);
    throw;
  }
  pinned_.give(*std::exchange(each.pinned, std::nullopt), {each.read, each.written});
  each.below_bytes = std::exchange(each.held, 0);
}

void device_store::forget_below(slot_id& below) noexcept {
  if (below == no_slot) return;
  const slot_id gone = std::exchange(below, no_slot);
  // A transfer whose bytes are no longer wanted may be under way there.
  const bool in_use = std::any_of(leftovers_.begin(), leftovers_.end(),
                                  [&](const leftover& each) { return each.below == gone; });
  if (in_use) {
    doomed_.push_back(gone);
  } else {
    options_.overflow->free(gone);
  }
}

void device_store::free(slot_id id) noexcept {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  try {
    mark_reads();
  } catch (const std::exception&) {  // a lost device reads nothing any more
  }
  slot gone = std::move(found->second);
  unlist(gone);
  if (gone.arriving) std::erase(arrivals_, id);
  slots_.erase(found);
  --stats_.slots;
  stats_.slot_bytes -= gone.bytes;
  const fence behind{gone.read, gone.written};
  if (gone.sinking) {
    std::erase(sinking_, id);
    leftovers_.push_back({*gone.sinking, gone.pinned, gone.below, behind});
  } else if (gone.pinned) {
    pinned_.give(*gone.pinned, behind);
  }
  if (gone.arriving) cancel_arrival(gone);
  forget_below(gone.below);
}

bool device_store::has_ended(const leftover& each) {
  return each.is_remote ? remote_.has_ended(each.under_way) : options_.overflow->poll(each.under_way);
}

void device_store::end(const leftover& each) noexcept {
  try {
    if (each.is_remote) {
      remote_.wait(each.under_way);
    } else {
      options_.overflow->wait(each.under_way);
    }
  } catch (const std::exception&) {  // the bytes are no longer wanted
  }
}

void device_store::clear_leftovers(bool wait) noexcept {
  std::erase_if(leftovers_, [&](const leftover& each) {
    if (!wait && !has_ended(each)) return false;
    end(each);
    if (each.stage) pinned_.give(*each.stage, each.behind);
    return true;
  });
  for (slot_id& each : std::vector<slot_id>(std::exchange(doomed_, {}))) forget_below(each);
}

// Transfers

void device_store::check_part(const slot& of, std::size_t offset, const std::byte* frame,
                              std::size_t bytes) const {
  HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0 && offset % page_bytes == 0 && offset <= of.bytes &&
                        bytes <= of.bytes - offset && frame != nullptr,
                    invalid_argument, "pinned tier: a transfer of ", bytes, " bytes at ", offset,
                    "; the slot has ", of.bytes, ", and sizes are multiples of ", page_bytes);
}

void device_store::queue_copy(lane on, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (options_.blocking) device_->wait(lane::compute, device_->mark(lane::compute));
  (on == lane::load ? reads_ : writes_).measure(bytes, [&] { device_->copy(on, to, from, bytes); });
  if (!options_.blocking) return;
  const std::uint64_t begin = now_ns();
  device_->wait(on, device_->mark(on));
  blocked_ns_ += now_ns() - begin;
}

/// The moments behind which a read that starts now must be ordered.
ticket device_store::compute_end() {
  if (!grouping_) return device_->mark(lane::compute);
  if (compute_end_ == 0) compute_end_ = device_->mark(lane::compute);
  return compute_end_;
}

void device_store::queue_load(std::byte* frame, const std::byte* from, std::size_t bytes, ticket after) {
  if (after > load_follows_) {
    device_->order(lane::load, lane::compute, after);
    load_follows_ = after;
  }
  queue_copy(lane::load, frame, from, bytes);
  ++stats_.reads;
  stats_.read_bytes += bytes;
}

/// Gives the reads of a group their end.
void device_store::mark_reads() {
  if (unmarked_.empty()) return;
  const ticket end = last_load_ = device_->mark(lane::load);
  for (const auto& [read, from] : unmarked_) {
    const auto found = transfers_.find(read);
    if (found != transfers_.end()) found->second.end = end;
    at(from).read = end;
  }
  unmarked_.clear();
  unmarked_bytes_ = 0;
}

void device_store::end_reads() noexcept {
  grouping_ = false;
  compute_end_ = 0;
  try {
    mark_reads();
  } catch (const std::exception&) {  // the next call for one of them tries again
  }
}

transfer_id device_store::read_from(slot_id id, std::size_t offset, std::byte* frame, std::size_t bytes) {
  look_for_arrivals();
  const slot& from = at(id);
  check_part(from, offset, frame, bytes);
  transfer started;
  started.frame = frame;
  started.bytes = bytes;
  started.after = compute_end();
  if (from.remote) return read_adopted(id, offset, started);
  if (from.pinned) return read_pinned(id, offset, started);
  HALOCLINE_EXPECTS(from.below != no_slot, invalid_argument, "pinned tier: slot ", id, " was never written");
  const slot_id below = from.below;
  started.below = below;
  started.stage = take_block(bytes);
  try {
    const fence behind = pinned_.behind(*started.stage);
    device_->wait(lane::load, behind.load);
    device_->wait(lane::save, behind.save);
    started.rising = options_.overflow->read_from(below, offset, pinned_.data(*started.stage), bytes);
  } catch (...) {
    pinned_.give(*started.stage, {});
    throw;
  }
  transfers_.emplace(next_transfer_, started);
  return next_transfer_++;
}

transfer_id device_store::read_pinned(slot_id id, std::size_t offset, const transfer& started) {
  const slot& from = at(id);
  if (from.written != 0) device_->order(lane::load, lane::save, from.written);
  unmarked_.emplace_back(next_transfer_, id);
  transfers_.emplace(next_transfer_, started);
  try {
    queue_load(started.frame, pinned_.data(*from.pinned) + offset, started.bytes, started.after);
    unmarked_bytes_ += started.bytes;
    if (!grouping_ || unmarked_bytes_ >= group_bytes) mark_reads();
  } catch (...) {
    unmarked_.pop_back();
    transfers_.erase(next_transfer_);
    throw;
  }
  return next_transfer_++;
}

void device_store::queue_staged(transfer& of) {
  const transfer_id rising = *std::exchange(of.rising, std::nullopt);
  const pinned_slabs::block stage = *std::exchange(of.stage, std::nullopt);
  try {
    options_.overflow->wait(rising);
    queue_load(of.frame, pinned_.data(stage), of.bytes, of.after);
    of.end = last_load_ = device_->mark(lane::load);
  } catch (...) {
    pinned_.give(stage, {});
    throw;
  }
  pinned_.give(stage, {of.end, 0});
}

transfer_id device_store::write(slot_id id, const std::byte* frame, std::size_t bytes) {
  mark_reads();
  slot* to = &at(id);
  check_part(*to, 0, frame, bytes);
  if (to->remote) renounce(id);
  if (to->sinking) {
    try {
      finish_sinking(id);
    } catch (const io_error&) {  // what was to be copied is replaced now
    }
  }
  if (!to->pinned) {
    const pinned_slabs::block block = take_block(to->bytes);
    to = &at(id);
    to->pinned = block;
  }
  forget_below(to->below);
  const fence behind = pinned_.behind(*to->pinned);
  device_->order(lane::save, lane::load, std::max(to->read, behind.load));
  device_->order(lane::save, lane::compute, device_->mark(lane::compute));
  queue_copy(lane::save, pinned_.data(*to->pinned), frame, bytes);
  to->written = device_->mark(lane::save);
  enlist(id, *to);
  ++stats_.writes;
  stats_.written_bytes += bytes;
  transfer started;
  started.write = true;
  started.end = to->written;
  transfers_.emplace(next_transfer_, started);
  return next_transfer_++;
}

bool device_store::poll(transfer_id id) {
  mark_reads();
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return true;
  transfer& each = found->second;
  if (each.awaits) {
    const slot_id from = *each.awaits;
    if (has_arrived(at(from))) finish_arrival(from);
    if (each.awaits) return false;
  }
  if (each.rising) {
    if (!options_.overflow->poll(*each.rising)) return false;
    try {
      queue_staged(each);
    } catch (const error&) {
      each.failure = std::current_exception();
    }
  }
  if (each.failure) return true;  // `wait` says so
  return device_->passed(each.write ? lane::save : lane::load, each.end);
}

void device_store::wait(transfer_id id) {
  mark_reads();
  const auto found = transfers_.find(id);
  HALOCLINE_EXPECTS(found != transfers_.end(), invalid_argument, "pinned tier: no transfer ", id);
  look_for_arrivals();
  while (found->second.awaits) finish_arrival(*found->second.awaits);
  transfer ended = found->second;
  transfers_.erase(found);
  if (ended.failure) std::rethrow_exception(ended.failure);
  if (ended.rising) queue_staged(ended);
  if (ended.write) {
    device_->order(lane::load, lane::save, ended.end);
    device_->order(lane::compute, lane::save, ended.end);
  } else if (ended.end > compute_follows_) {
    if (!device_->passed(lane::load, ended.end)) {
      stalls_.measure(1, [&] { device_->order(lane::compute, lane::load, ended.end); });
    }
    compute_follows_ = ended.end;
  }
}

fence device_store::detach(transfer_id id) noexcept {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return {};
  try {
    mark_reads();
  } catch (const std::exception&) {  // a lost device: nothing will be done behind it either
  }
  const transfer gone = found->second;
  transfers_.erase(found);
  if (gone.awaits) {  // the contents arrive all the same, for the next read
    std::erase(slots_.at(*gone.awaits).arriving->waiting, id);
    return {};
  }
  if (gone.rising) {
    leftovers_.push_back({*gone.rising, gone.stage, gone.below, {}});
    return {};
  }
  return gone.write ? fence{0, gone.end} : fence{gone.end, 0};
}

store_stats device_store::statistics() const {
  store_stats result = stats_;
  result.read_busy_ns = reads_.total_ns();
  result.written_busy_ns = writes_.total_ns();
  result.device_stall_ns = stalls_.total_ns() + blocked_ns_;
  return result;
}

void device_store::trim() noexcept {
  clear_leftovers(true);
  pinned_.trim();
}

}  // namespace halocline::memory
