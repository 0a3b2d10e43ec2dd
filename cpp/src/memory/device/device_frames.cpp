// SPDX-License-Identifier: Apache-2.0
#include "memory/device/device_frames.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

namespace halocline::memory {
namespace {

/// The arena grows by this much at least, because each piece costs a call of the driver.
constexpr std::size_t growth_bytes = std::size_t{256} << 20;
/// Trimming to nothing must be able to give everything back: pages of an arena are taken in this unit.
constexpr std::size_t page = 4096;

fence later_of(const fence& a, const fence& b) noexcept {
  return {std::max(a.load, b.load), std::max(a.save, b.save)};
}

}  // namespace

device_frames::device_frames(std::shared_ptr<device_memory> device, std::shared_ptr<memory_budget> budget,
                             frame_holder& holder)
    : device_(std::move(device)), budget_(std::move(budget)), holder_(holder) {
  // The budget may grow later, so the addresses reach as far as the card.
  range_ = device_->make_range(std::max(device_->total_bytes(), budget_->capacity()) / page * page);
}

device_frames::~device_frames() {
  (void)range_->shrink(0);
  budget_->give(size_);
}

/// The lowest free block that is large enough for what comes from elsewhere or is a key, the highest for what
/// the program makes: keys make room for keys, and short-lived buffers do not lie between them. (Best fit
/// moved 2 to 3 times as many bytes in `wide-rotations` within a quarter of its footprint.)
device_frames::block_map::iterator device_frames::first_fit(std::size_t bytes, bool low) {
  auto found = blocks_.end();
  for (auto each = by_size_.lower_bound({bytes, 0}); each != by_size_.end(); ++each) {
    const std::size_t offset = each->second;
    const bool nearer = found == blocks_.end() || (low ? offset < found->first : offset > found->first);
    if (nearer) found = blocks_.find(offset);
  }
  return found;
}

std::byte* device_frames::take(std::size_t bytes, lane user, object_class cls) {
  // Keys stay for long, whether they are loaded or expanded here.
  const bool low = user == lane::load || is_recoverable(cls);
  auto at = first_fit(bytes, low);
  if (at == blocks_.end() && grow_for(bytes)) at = first_fit(bytes, low);
  if (at == blocks_.end()) return nullptr;
  order_behind(at->second.behind, user);
  if (!low) at = high_end(at, bytes);
  carve(at, bytes);
  return range_->base() + at->first;
}

/// Splits a free block so that the last `bytes` bytes are a block of their own.
device_frames::block_map::iterator device_frames::high_end(block_map::iterator from, std::size_t bytes) {
  if (from->second.bytes == bytes) return from;
  unlist(from);
  from->second.bytes -= bytes;
  by_size_.emplace(from->second.bytes, from->first);
  const std::size_t end = from->first + from->second.bytes;
  by_size_.emplace(bytes, end);
  return blocks_.emplace(end, block{bytes, false, from->second.behind}).first;
}

void device_frames::order_behind(const fence& behind, lane user) {
  if (behind.save != 0) device_->order(user, lane::save, behind.save);
  // A lane is ordered behind itself anyway.
  if (behind.load != 0 && user != lane::load) device_->order(user, lane::load, behind.load);
}

/// Turns the first `bytes` bytes of a free block into a used one.
void device_frames::carve(block_map::iterator from, std::size_t bytes) {
  const block whole = from->second;
  if (whole.bytes > bytes) {
    const auto rest = blocks_.emplace(from->first + bytes, block{whole.bytes - bytes, false, whole.behind});
    by_size_.emplace(whole.bytes - bytes, rest.first->first);
  }
  by_size_.erase({whole.bytes, from->first});
  from->second = {bytes, true, {}};
  free_ -= bytes;
}

bool device_frames::grow_for(std::size_t bytes) {
  const bool open_end = !blocks_.empty() && !std::prev(blocks_.end())->second.used;
  const std::size_t need = bytes - (open_end ? std::prev(blocks_.end())->second.bytes : 0);
  const std::size_t wanted = std::max(need, std::min(growth_bytes, budget_->available() / page * page));
  return grow_by(wanted) || (wanted > need && grow_by(need));
}

bool device_frames::grow_by(std::size_t bytes) {
  if (!budget_->take(bytes)) return false;
  if (!range_->grow(size_ + bytes)) {
    budget_->give(bytes);
    return false;
  }
  const auto added = blocks_.emplace(size_, block{bytes, true, {}}).first;
  size_ += bytes;
  set_free(added, {});
  return true;
}

void device_frames::unlist(block_map::iterator at) noexcept { by_size_.erase({at->second.bytes, at->first}); }

/// Makes a used block free and joins it with free neighbours.
void device_frames::set_free(block_map::iterator at, const fence& behind) noexcept {
  free_ += at->second.bytes;
  at->second.used = false;
  at->second.behind = behind;
  if (const auto next = std::next(at); next != blocks_.end() && !next->second.used) {
    unlist(next);
    at->second.bytes += next->second.bytes;
    at->second.behind = later_of(at->second.behind, next->second.behind);
    blocks_.erase(next);
  }
  if (at != blocks_.begin() && !std::prev(at)->second.used) {
    const auto before = std::prev(at);
    unlist(before);
    before->second.bytes += at->second.bytes;
    before->second.behind = later_of(at->second.behind, before->second.behind);
    blocks_.erase(at);
    at = before;
  }
  try {
    by_size_.emplace(at->second.bytes, at->first);
  } catch (const std::exception&) {  // no memory for the entry: the part is found again with a neighbour
  }
}

void device_frames::give(std::byte* frame, std::size_t, const fence& behind) noexcept {
  const auto at = blocks_.find(static_cast<std::size_t>(frame - range_->base()));
  if (at != blocks_.end()) set_free(at, behind);
}

std::byte* device_frames::resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) {
  const auto at = blocks_.find(static_cast<std::size_t>(frame - range_->base()));
  if (new_bytes < bytes) {
    const auto rest = blocks_.emplace(at->first + new_bytes, block{bytes - new_bytes, true, {}}).first;
    at->second.bytes = new_bytes;
    set_free(rest, {});
    return frame;
  }
  const std::size_t more = new_bytes - bytes;
  auto next = std::next(at);
  const bool last = next == blocks_.end() || (!next->second.used && std::next(next) == blocks_.end());
  if (last && (next == blocks_.end() || next->second.bytes < more)) {
    if (!grow_for(more)) return nullptr;
    next = std::next(at);
  }
  if (next == blocks_.end() || next->second.used || next->second.bytes < more) return nullptr;
  order_behind(next->second.behind, lane::load);
  carve(next, more);
  blocks_.erase(next);
  at->second.bytes = new_bytes;
  return frame;
}

bool device_frames::has_room(std::size_t bytes) const noexcept {
  const std::size_t open = budget_->available();
  return open >= bytes || open + free_ >= bytes;
}

// Moving

/// The run of blocks with enough free bytes in which the fewest bytes have to move: its first block and the
/// offset behind its last one; an end of 0: there is none.
std::pair<device_frames::block_map::iterator, std::size_t> device_frames::cheapest_window(std::size_t bytes) {
  std::pair<block_map::iterator, std::size_t> best{blocks_.end(), 0};
  std::size_t least = SIZE_MAX;
  std::size_t open = 0;
  std::size_t moving = 0;
  auto first = blocks_.begin();
  for (auto last = blocks_.begin(); last != blocks_.end(); ++last) {
    if (last->second.used && !holder_.may_move(range_->base() + last->first)) {
      first = std::next(last);
      open = moving = 0;
      continue;
    }
    (last->second.used ? moving : open) += last->second.bytes;
    while (open >= bytes && (first->second.used || open - first->second.bytes >= bytes)) {
      (first->second.used ? moving : open) -= first->second.bytes;
      ++first;
    }
    if (open >= bytes && moving < least) {
      least = moving;
      best = {first, last->first + last->second.bytes};
    }
  }
  return best;
}

bool device_frames::compact(std::size_t bytes) {
  if (free_ < bytes && !grow_by(bytes - free_)) return false;
  const auto [first, end] = cheapest_window(bytes);
  if (end == 0) return false;
  slide(first, end);
  return true;
}

/// Moves the used blocks between `first` and the offset `end` to the front; what is free comes behind them.
void device_frames::slide(block_map::iterator first, std::size_t end) {
  std::size_t to = first->first;
  fence behind{};
  std::vector<block_move> moves;
  for (auto at = first; at != blocks_.end() && at->first < end;) {
    const auto [offset, here] = *at;
    if (!here.used) {
      behind = later_of(behind, here.behind);
      order_behind(here.behind, lane::compute);
      unlist(at);
      free_ -= here.bytes;
      at = blocks_.erase(at);
      continue;
    }
    if (offset != to) {
      auto node = blocks_.extract(at++);
      node.key() = to;
      blocks_.insert(std::move(node));
      moves.push_back({range_->base() + to, range_->base() + offset, here.bytes});
      holder_.moved(range_->base() + offset, range_->base() + to);
    } else {
      ++at;
    }
    to += here.bytes;
  }
  device_->move_down(moves);
  if (to < end) set_free(blocks_.emplace(to, block{end - to, true, {}}).first, behind);
}

std::size_t device_frames::trim_to(std::size_t keep) noexcept {
  if (free_ <= keep || blocks_.empty()) return 0;
  try {
    auto first = blocks_.begin();
    for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
      if (at->second.used && !holder_.may_move(range_->base() + at->first)) first = std::next(at);
    }
    if (first != blocks_.end()) slide(first, size_);
  } catch (const std::exception&) {  // what could not be moved stays
  }
  const auto last = std::prev(blocks_.end());
  if (last->second.used) return 0;
  const std::size_t wanted = size_ - std::min(last->second.bytes, free_ - keep);
  const std::size_t left = std::clamp(range_->shrink(wanted), wanted, size_);
  const std::size_t given = size_ - left;
  unlist(last);
  last->second.bytes -= given;
  if (last->second.bytes == 0) {
    blocks_.erase(last);
  } else {
    by_size_.emplace(last->second.bytes, last->first);
  }
  size_ = left;
  free_ -= given;
  budget_->give(given);
  return given;
}

}  // namespace halocline::memory
