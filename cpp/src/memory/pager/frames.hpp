// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::memory {

/// User of frames: confirms before they move, and is notified afterwards.
class frame_holder {
 public:
  virtual ~frame_holder() = default;
  /// Whether only the holder has the address of a frame, and no transfer of it is under way.
  [[nodiscard]] virtual bool may_move(std::byte* frame) noexcept = 0;
  /// The frame has moved.
  virtual void moved(std::byte* from, std::byte* to) noexcept = 0;
};

/// Frames of the fast tier within a budget, as the pager sees them. Cached frames count against the budget
/// too.
class frames {
 public:
  virtual ~frames() = default;
  /// A frame of `bytes` (whole pages), or nullptr when the budget or the place has no room for it.
  /// @param user lane that writes into it first
  /// @param cls class of the object that it is for
  [[nodiscard]] virtual std::byte* take(std::size_t bytes, lane user, object_class cls) = 0;
  /// Shrinks or grows a frame in use; its contents stay, and the load lane fills the new part. nullptr, and
  /// nothing has changed, when there is no room or the tier cannot resize.
  [[nodiscard]] virtual std::byte* resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) = 0;
  /// Frees a frame; its next use is ordered behind `behind` and all of the compute lane so far.
  virtual void give(std::byte* frame, std::size_t bytes, const fence& behind) noexcept = 0;
  /// Whether the budget has room for a frame, perhaps not in one piece.
  [[nodiscard]] virtual bool has_room(std::size_t bytes) const noexcept = 0;
  /// Whether frames can be moved together, so that the holder must know who uses them.
  [[nodiscard]] virtual bool moves_together() const noexcept = 0;
  /// Compacts frames until `bytes` bytes are free in one piece. False: that is not possible.
  [[nodiscard]] virtual bool compact(std::size_t bytes) = 0;
  /// Returns free bytes to the system until at most `keep` of them are left; returns their number.
  virtual std::size_t trim_to(std::size_t keep) noexcept = 0;
  [[nodiscard]] virtual std::size_t used_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::size_t free_bytes() const noexcept = 0;
  /// Whether the system, not the budget, refused the last frame.
  [[nodiscard]] virtual bool is_refused_by_place() const noexcept { return false; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return used_bytes() + free_bytes(); }
  [[nodiscard]] virtual memory_budget& budget() const noexcept = 0;
};

/// Frames in host memory.
[[nodiscard]] std::unique_ptr<frames> make_host_frames(std::unique_ptr<tier> place,
                                                       std::shared_ptr<memory_budget> budget);

}  // namespace halocline::memory
