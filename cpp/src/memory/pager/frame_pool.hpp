// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// Frames of the fast tier within a budget. Free frames that the tier caches count against the budget too. A
/// tier that can join them to frames of another size does not release them for such frames.
class frame_pool {
 public:
  frame_pool(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget)
      : place_(std::move(place)), budget_(std::move(budget)) {}
  ~frame_pool();
  frame_pool(const frame_pool&) = delete;
  frame_pool& operator=(const frame_pool&) = delete;

  /// A frame of `bytes` (whole pages) for an object of a class, or nullptr when the budget or the place has
  /// no room for it.
  [[nodiscard]] std::byte* take(std::size_t bytes, object_class cls);
  /// Shrinks or grows a frame in use, moving it if necessary; its contents stay. nullptr, and nothing has
  /// changed, when there is no room or the tier cannot resize.
  [[nodiscard]] std::byte* resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes);
  /// Frees a frame.
  void give(std::byte* frame, std::size_t bytes) noexcept;
  /// Whether `take` would succeed now.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
  /// Returns free bytes to the system until at most `keep` of them are left; returns their number.
  std::size_t trim_to(std::size_t keep) noexcept;

  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return place_->cached_bytes(); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return used_ + free_bytes(); }
  /// Whether the tier, not the budget, refused the last frame.
  [[nodiscard]] bool is_refused_by_place() const noexcept { return is_refused_; }
  [[nodiscard]] memory_budget& budget() const noexcept { return *budget_; }

 private:
  /// Charges the bytes that are missing for `bytes` more in use to the budget. False: it has too few left.
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;
  /// Credits bytes that were charged and are not held.
  void settle() noexcept;

  std::unique_ptr<tier> place_;
  std::shared_ptr<memory_budget> budget_;
  bool is_refused_ = false;
  std::size_t used_ = 0;
  std::size_t charged_ = 0;  ///< of the budget; `held_bytes` between calls
};

}  // namespace halocline::memory
