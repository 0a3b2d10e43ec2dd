// SPDX-License-Identifier: Apache-2.0
#include "memory/device/device_frames.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

namespace halocline::memory {
namespace {

/// Least growth of the arena, because each piece costs a call of the driver.
constexpr std::size_t growth_bytes = std::size_t{256} << 20;
/// Trimming must be able to release everything: pages of an arena are allocated in this unit.
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

/// The lowest hole that is large enough for what comes from elsewhere or is a key, the highest for what the
/// program makes: keys replace keys, and short-lived buffers do not lie between them. (Best fit moved 2 to 3
/// times as many bytes in `wide-rotations` within a quarter of its footprint.)
device_frames::hole_list::iterator device_frames::first_fit(std::size_t bytes, bool low) noexcept {
  const auto fits = [&](const hole& each) { return each.bytes >= bytes; };
  if (low) return std::find_if(holes_.begin(), holes_.end(), fits);
  const auto found = std::find_if(holes_.rbegin(), holes_.rend(), fits);
  return found == holes_.rend() ? holes_.end() : std::prev(found.base());
}

/// The first hole at or behind an offset.
device_frames::hole_list::iterator device_frames::hole_at(std::size_t offset) noexcept {
  return std::lower_bound(holes_.begin(), holes_.end(), offset,
                          [](const hole& each, std::size_t at) { return each.offset < at; });
}

std::byte* device_frames::take(std::size_t bytes, lane user, object_class cls) {
  // Keys stay for long, whether they are loaded or expanded here.
  const bool low = user == lane::load || is_recoverable(cls);
  // Between n frames there are n + 1 holes at most: with this capacity a free needs no memory.
  if (holes_.capacity() < used_.size() + 3) holes_.reserve(2 * used_.size() + 3);
  auto from = first_fit(bytes, low);
  if (from == holes_.end() && grow_for(bytes)) from = first_fit(bytes, low);
  if (from == holes_.end()) return nullptr;
  order_behind(from->behind, user);
  const std::size_t offset = low ? from->offset : from->end() - bytes;
  used_.emplace(offset, bytes);
  cut(from, bytes, low);
  return range_->base() + offset;
}

void device_frames::order_behind(const fence& behind, lane user) {
  if (behind.save != 0) device_->order(user, lane::save, behind.save);
  // A lane is ordered behind itself anyway.
  if (behind.load != 0 && user != lane::load) device_->order(user, lane::load, behind.load);
}

/// Takes the first or the last `bytes` bytes of a hole.
void device_frames::cut(hole_list::iterator from, std::size_t bytes, bool low) noexcept {
  if (low) from->offset += bytes;
  from->bytes -= bytes;
  if (from->bytes == 0) holes_.erase(from);
  free_ -= bytes;
}

bool device_frames::grow_for(std::size_t bytes) {
  const bool open_end = !holes_.empty() && holes_.back().end() == size_;
  const std::size_t need = bytes - (open_end ? std::min(bytes, holes_.back().bytes) : 0);
  const std::size_t wanted = std::max(need, std::min(growth_bytes, budget_->available() / page * page));
  return grow_by(wanted) || (wanted > need && grow_by(need));
}

bool device_frames::grow_by(std::size_t bytes) {
  if (holes_.size() == holes_.capacity()) holes_.reserve(2 * holes_.size() + 1);
  if (!budget_->take(bytes)) return false;
  if (!range_->grow(size_ + bytes)) {
    budget_->give(bytes);
    return false;
  }
  size_ += bytes;
  add_hole({size_ - bytes, bytes, {}});
  return true;
}

/// Makes bytes free and joins them with free neighbours. There is room for one more in the list.
void device_frames::add_hole(const hole& added) noexcept {
  free_ += added.bytes;
  const auto next = hole_at(added.offset);
  const bool joins_next = next != holes_.end() && next->offset == added.end();
  const bool joins_last = next != holes_.begin() && std::prev(next)->end() == added.offset;
  if (joins_last) {
    hole& last = *std::prev(next);
    last.bytes += added.bytes + (joins_next ? next->bytes : 0);
    last.behind = later_of(last.behind, added.behind);
    if (!joins_next) return;
    last.behind = later_of(last.behind, next->behind);
    holes_.erase(next);
  } else if (joins_next) {
    *next = {added.offset, added.bytes + next->bytes, later_of(added.behind, next->behind)};
  } else {
    holes_.insert(next, added);
  }
}

void device_frames::give(std::byte* frame, std::size_t, const fence& behind) noexcept {
  const auto gone = used_.find(static_cast<std::size_t>(frame - range_->base()));
  if (gone == used_.end()) return;
  add_hole({gone->first, gone->second, behind});
  used_.erase(gone);
}

std::byte* device_frames::resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) {
  const auto at = used_.find(static_cast<std::size_t>(frame - range_->base()));
  if (new_bytes < bytes) {
    at->second = new_bytes;
    add_hole({at->first + new_bytes, bytes - new_bytes, {}});
    return frame;
  }
  const std::size_t more = new_bytes - bytes, end = at->first + bytes;
  const auto open_behind = [&] {
    const auto next = hole_at(end);
    return next == holes_.end() || next->offset != end ? std::size_t{0} : next->bytes;
  };
  if (end + open_behind() == size_ && open_behind() < more && !grow_for(more)) return nullptr;
  if (open_behind() < more) return nullptr;
  const auto next = hole_at(end);
  order_behind(next->behind, lane::load);
  cut(next, more, true);
  at->second = new_bytes;
  return frame;
}

bool device_frames::has_room(std::size_t bytes) const noexcept {
  const std::size_t open = budget_->available();
  return open >= bytes || open + free_ >= bytes;
}

// Moving

/// Frames and holes in their order.
std::vector<device_frames::part> device_frames::parts() const {
  std::vector<part> list;
  list.reserve(used_.size() + holes_.size());
  auto next = holes_.begin();
  for (const auto& [offset, bytes] : used_) {
    for (; next != holes_.end() && next->offset < offset; ++next) {
      list.push_back({next->offset, next->bytes, false});
    }
    list.push_back({offset, bytes, true});
  }
  for (; next != holes_.end(); ++next) list.push_back({next->offset, next->bytes, false});
  return list;
}

/// The neighbours with enough free bytes of which the fewest bytes have to move; an end of 0: there are none.
device_frames::window device_frames::cheapest_window(std::size_t bytes) {
  window best{};
  std::size_t least = SIZE_MAX, open = 0, moving = 0;
  const std::vector<part> list = parts();
  auto first = list.begin();
  for (auto last = list.begin(); last != list.end(); ++last) {
    if (last->used && !holder_.may_move(range_->base() + last->offset)) {
      first = std::next(last);
      open = moving = 0;
      continue;
    }
    (last->used ? moving : open) += last->bytes;
    while (open >= bytes && (first->used || open - first->bytes >= bytes)) {
      (first->used ? moving : open) -= first->bytes;
      ++first;
    }
    if (open >= bytes && moving < least) {
      least = moving;
      best = {first->offset, last->offset + last->bytes};
    }
  }
  return best;
}

bool device_frames::compact(std::size_t bytes) {
  if (free_ < bytes && !grow_by(bytes - free_)) return false;
  const window found = cheapest_window(bytes);
  if (found.second == 0) return false;
  slide(found);
  return true;
}

/// Moves the frames of a window, all of which may move, to its front; what is free comes behind them.
void device_frames::slide(const window& within) {
  const auto [begin, end] = within;
  const auto first = hole_at(begin);
  auto last = first;
  hole left{begin, 0, {}};
  for (; last != holes_.end() && last->offset < end; ++last) {
    left.behind = later_of(left.behind, last->behind);
    left.bytes += last->bytes;
    order_behind(last->behind, lane::compute);
  }
  if (left.bytes == 0) return;
  std::vector<block_move> moves;
  moves.reserve(used_.size());  // from here on nothing allocates: frames and list stay in step
  for (auto at = used_.lower_bound(begin); at != used_.end() && at->first < end;) {
    const std::size_t from = at->first, to = left.offset;
    left.offset += at->second;
    if (from == to) {
      ++at;
      continue;
    }
    moves.push_back({range_->base() + to, range_->base() + from, at->second});
    auto node = used_.extract(at++);
    node.key() = to;
    used_.insert(std::move(node));
    holder_.moved(range_->base() + from, range_->base() + to);
  }
  free_ -= left.bytes;
  holes_.erase(first, last);
  device_->move_down(moves);
  add_hole(left);
}

std::size_t device_frames::trim_to(std::size_t keep) noexcept {
  if (free_ <= keep || size_ == 0) return 0;
  try {
    std::size_t begin = 0;
    for (const auto& [offset, bytes] : used_) {
      if (!holder_.may_move(range_->base() + offset)) begin = offset + bytes;
    }
    slide({begin, size_});
  } catch (const std::exception&) {  // what could not be moved stays
  }
  if (holes_.empty() || holes_.back().end() != size_) return 0;
  hole& last = holes_.back();
  const std::size_t wanted = size_ - std::min(last.bytes, free_ - keep);
  const std::size_t left = std::clamp(range_->shrink(wanted), wanted, size_);
  const std::size_t given = size_ - left;
  last.bytes -= given;
  if (last.bytes == 0) holes_.pop_back();
  size_ = left;
  free_ -= given;
  budget_->give(given);
  return given;
}

}  // namespace halocline::memory
