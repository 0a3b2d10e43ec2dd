// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// Frames of the fast tier within a budget. Free frames are kept and handed out again, because a fresh one
/// costs a page fault per 4 KiB: those of the same size first; otherwise one of a similar size is cut or
/// extended. They count against the budget and give way when room is needed.
class frame_pool {
 public:
  frame_pool(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget)
      : place_(std::move(place)), budget_(std::move(budget)) {}
  ~frame_pool();
  frame_pool(const frame_pool&) = delete;
  frame_pool& operator=(const frame_pool&) = delete;

  /// A frame of `bytes` (whole pages), or nullptr when the budget or the place has no room for it.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  /// Makes a frame in use smaller or larger, moving it if need be; what was in it stays. nullptr, and nothing
  /// has changed, when there is no room or the place cannot do that.
  [[nodiscard]] std::byte* resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes);
  /// Takes a frame back.
  void give(std::byte* frame, std::size_t bytes) noexcept;
  /// Whether `take` would find room now.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
  /// Hands free frames back to the place, the oldest first, until at most `keep` bytes of them are left;
  /// returns how many bytes that were.
  std::size_t trim_to(std::size_t keep) noexcept;

  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return free_; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return used_ + free_; }
  [[nodiscard]] memory_budget& budget() const noexcept { return *budget_; }

 private:
  struct free_frame {
    std::byte* data;
    std::size_t bytes;
  };
  using frame_list = std::list<free_frame>;

  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] std::byte* take_exact(std::size_t bytes);
  [[nodiscard]] std::byte* cut_to_size(std::size_t bytes);
  bool trim_oldest() noexcept;

  std::unique_ptr<tier> place_;
  std::shared_ptr<memory_budget> budget_;
  frame_list free_frames_;  ///< oldest first
  std::multimap<std::size_t, frame_list::iterator> by_size_;
  std::size_t used_ = 0;
  std::size_t free_ = 0;
};

}  // namespace halocline::memory
