// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/frame_pool.hpp"

#include <limits>

namespace halocline::memory {

frame_pool::~frame_pool() { trim_to(0); }

std::byte* frame_pool::take(std::size_t bytes) {
  if (const auto found = by_size_.find(bytes); found != by_size_.end()) {
    std::byte* const data = found->second->data;
    free_frames_.erase(found->second);
    by_size_.erase(found);
    free_ -= bytes;
    used_ += bytes;
    return data;
  }
  while (!budget_->take(bytes)) {
    if (free_frames_.empty()) return nullptr;
    trim_to(free_ - free_frames_.front().bytes);
  }
  auto* const data = static_cast<std::byte*>(place_->allocate(bytes));
  if (data == nullptr) {
    budget_->give(bytes);
    return nullptr;
  }
  used_ += bytes;
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

std::size_t frame_pool::trim_to(std::size_t keep) noexcept {
  std::size_t given = 0;
  while (free_ > keep) {
    const free_frame frame = free_frames_.front();
    auto [first, last] = by_size_.equal_range(frame.bytes);
    while (first != last && first->second != free_frames_.begin()) ++first;
    if (first != last) by_size_.erase(first);
    free_frames_.pop_front();
    place_->free(frame.data, frame.bytes);
    budget_->give(frame.bytes);
    free_ -= frame.bytes;
    given += frame.bytes;
  }
  return given;
}

}  // namespace halocline::memory
