// SPDX-License-Identifier: Apache-2.0
#include "memory/device/pinned_slabs.hpp"

#include <algorithm>
#include <exception>

namespace halocline::memory {

pinned_slabs::~pinned_slabs() {
  for (const slab& each : slabs_) {
    if (each.data != nullptr) device_->free_pinned(each.data);
  }
}

std::optional<pinned_slabs::block> pinned_slabs::take(std::size_t bytes) {
  slab* from = nullptr;
  std::optional<std::uint64_t> offset;
  for (slab& each : slabs_) {
    if (each.data == nullptr || each.free.largest() < bytes) continue;
    from = &each;
    break;
  }
  if (from == nullptr) from = add(bytes);
  if (from == nullptr || !(offset = from->free.take(bytes))) return std::nullopt;
  from->used += bytes;
  used_ += bytes;
  return block{static_cast<std::uint32_t>(from - slabs_.data()), *offset, bytes};
}

void pinned_slabs::prepare(std::size_t bytes) {
  const std::size_t coming = maker_.bytes();
  const std::size_t open = pinned_ - used_ + coming;
  const std::size_t room = limit_ - std::min(limit_, pinned_ + coming);
  const std::size_t size = std::min(slab_bytes_, room);
  if (size == 0 || bytes <= open) return;
  maker_.order(std::min((bytes - open + size - 1) / size, room / size), size);
}

pinned_slabs::slab& pinned_slabs::place_for_slab() {
  auto place = std::find_if(slabs_.begin(), slabs_.end(), [](const slab& s) { return s.data == nullptr; });
  if (place == slabs_.end()) place = slabs_.insert(slabs_.end(), slab{});
  return *place;
}

pinned_slabs::slab* pinned_slabs::note(slab& place, const slab_maker::slab& made) {
  place.data = made.data;
  place.bytes = made.bytes;
  place.used = 0;
  place.behind = {};
  place.free = {};
  place.free.give(0, made.bytes);
  pinned_ += made.bytes;
  return &place;
}

pinned_slabs::slab* pinned_slabs::add(std::size_t bytes) {
  slab* place = &place_for_slab();
  while (const std::optional<slab_maker::slab> made = maker_.take()) {
    slab* const noted = note(*place, *made);
    if (noted->bytes >= bytes) return noted;
    place = &place_for_slab();
  }
  const std::size_t room = limit_ - std::min(limit_, pinned_);
  if (bytes > room) return nullptr;
  std::size_t size = std::max(bytes, std::min(room, slab_bytes_));
  std::byte* data = device_->allocate_pinned(size);
  if (data == nullptr && size > bytes) data = device_->allocate_pinned(size = bytes);
  if (data == nullptr) return nullptr;
  return note(*place, {data, size});
}

void pinned_slabs::give(const block& at, const fence& behind) noexcept {
  slab& home = slabs_[at.slab];
  home.used -= at.bytes;
  used_ -= at.bytes;
  home.behind.load = std::max(home.behind.load, behind.load);
  home.behind.save = std::max(home.behind.save, behind.save);
  try {
    home.free.give(at.offset, at.bytes);
  } catch (const std::exception&) {  // no memory for the entry: this part is not used again
  }
}

void pinned_slabs::trim() noexcept {
  maker_.clear();
  for (slab& each : slabs_) {
    if (each.data == nullptr || each.used != 0) continue;
    try {
      device_->wait(lane::load, each.behind.load);
      device_->wait(lane::save, each.behind.save);
    } catch (const std::exception&) {  // a lost device runs no copies any more
    }
    device_->free_pinned(each.data);
    pinned_ -= each.bytes;
    each = {};
  }
}

}  // namespace halocline::memory
