// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/frame_pool.hpp"

#include <iterator>

namespace halocline::memory {

frame_pool::~frame_pool() { trim_to(0); }

std::byte* frame_pool::take(std::size_t bytes) {
  if (std::byte* const same = take_exact(bytes)) return same;
  if (std::byte* const cut = cut_to_size(bytes)) return cut;
  if (!make_room(bytes)) return nullptr;
  auto* const data = static_cast<std::byte*>(place_->allocate(bytes));
  if (data == nullptr) {
    budget_->give(bytes);
    return nullptr;
  }
  used_ += bytes;
  return data;
}

bool frame_pool::make_room(std::size_t bytes) {
  while (!budget_->take(bytes)) {
    if (!trim_oldest()) return false;
  }
  return true;
}

std::byte* frame_pool::take_exact(std::size_t bytes) {
  const auto found = by_size_.find(bytes);
  if (found == by_size_.end()) return nullptr;
  std::byte* const data = found->second->data;
  free_frames_.erase(found->second);
  by_size_.erase(found);
  free_ -= bytes;
  used_ += bytes;
  return data;
}

std::byte* frame_pool::cut_to_size(std::size_t bytes) {
  constexpr std::size_t most_ratio = 2;  // beyond that little of the frame would be re-used
  auto found = by_size_.lower_bound(bytes);
  if (found == by_size_.end() || found->first > most_ratio * bytes) {
    if (found == by_size_.begin()) return nullptr;
    --found;
    if (most_ratio * found->first < bytes) return nullptr;
  }
  const std::size_t old = found->first;
  std::byte* const frame = take_exact(old);
  std::byte* const data = resize(frame, old, bytes);
  if (data == nullptr) give(frame, old);
  return data;
}

std::byte* frame_pool::resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) {
  if (new_bytes > bytes && !make_room(new_bytes - bytes)) return nullptr;
  auto* const data = static_cast<std::byte*>(place_->resize(frame, bytes, new_bytes));
  if (new_bytes > bytes) {
    if (data == nullptr) {
      budget_->give(new_bytes - bytes);
    } else {
      used_ += new_bytes - bytes;
    }
  } else if (data != nullptr) {
    budget_->give(bytes - new_bytes);
    used_ -= bytes - new_bytes;
  }
  return data;
}

void frame_pool::give(std::byte* frame, std::size_t bytes) noexcept {
  used_ -= bytes;
  try {
    free_frames_.push_back({frame, bytes});
    by_size_.emplace(bytes, std::prev(free_frames_.end()));
    free_ += bytes;
  } catch (...) {  // no room for the list entry: the frame goes back instead
    if (!free_frames_.empty() && free_frames_.back().data == frame) free_frames_.pop_back();
    place_->free(frame, bytes);
    budget_->give(bytes);
  }
}

bool frame_pool::has_room(std::size_t bytes) const noexcept {
  if (by_size_.contains(bytes)) return true;
  const std::size_t open = budget_->available();
  return open >= bytes || open + free_ >= bytes;
}

bool frame_pool::trim_oldest() noexcept {
  if (free_frames_.empty()) return false;
  const free_frame frame = free_frames_.front();
  auto [first, last] = by_size_.equal_range(frame.bytes);
  while (first != last && first->second != free_frames_.begin()) ++first;
  if (first != last) by_size_.erase(first);
  free_frames_.pop_front();
  place_->free(frame.data, frame.bytes);
  budget_->give(frame.bytes);
  free_ -= frame.bytes;
  return true;
}

std::size_t frame_pool::trim_to(std::size_t keep) noexcept {
  const std::size_t before = free_;
  while (free_ > keep && trim_oldest()) {
  }
  return before - free_;
}

}  // namespace halocline::memory
