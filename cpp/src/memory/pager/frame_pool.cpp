// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/frame_pool.hpp"

#include <algorithm>

namespace halocline::memory {

frame_pool::~frame_pool() { trim_to(0); }

std::byte* frame_pool::take(std::size_t bytes, object_class cls) {
  is_refused_ = false;
  if (!charge(bytes)) return nullptr;
  void* frame = place_->allocate_for(cls, bytes);
  if (frame == nullptr && trim_to(0) != 0 && charge(bytes)) frame = place_->allocate_for(cls, bytes);
  is_refused_ = frame == nullptr;
  if (frame != nullptr) used_ += bytes;
  settle();
  return static_cast<std::byte*>(frame);
}

std::byte* frame_pool::resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) {
  if (new_bytes > bytes && !charge(new_bytes - bytes)) return nullptr;
  void* const data = place_->resize(frame, bytes, new_bytes);
  if (data != nullptr) used_ = used_ - bytes + new_bytes;
  settle();
  return static_cast<std::byte*>(data);
}

bool frame_pool::charge(std::size_t bytes) noexcept {
  const std::size_t fresh = bytes - (place_->joins() ? std::min(bytes, free_bytes()) : 0);
  while (!budget_->take(fresh)) {
    if (place_->joins() || trim_to(0) == 0) return false;
  }
  charged_ += fresh;
  return true;
}

void frame_pool::settle() noexcept {
  const std::size_t held = std::min(charged_, held_bytes());
  budget_->give(charged_ - held);
  charged_ = held;
}

void frame_pool::give(std::byte* frame, std::size_t bytes) noexcept {
  used_ -= bytes;
  place_->free(frame, bytes);
  settle();
}

bool frame_pool::has_room(std::size_t bytes) const noexcept {
  const std::size_t open = budget_->available();
  return open >= bytes || open + free_bytes() >= bytes;
}

std::size_t frame_pool::trim_to(std::size_t keep) noexcept {
  const std::size_t before = free_bytes();
  place_->trim_to(keep);
  settle();
  return before - free_bytes();
}

}  // namespace halocline::memory
