// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "memory/pager/frames.hpp"

namespace halocline::memory {

/// Frames in one contiguous arena of a device, which grows in large pieces up to the budget. Keys and what is
/// loaded lie at the low end, what the program makes at the high end; free neighbours are joined. When the
/// free bytes suffice but are fragmented, frames are compacted on the compute lane.
class device_frames final : public frames {
 public:
  /// @param holder outlives the frames
  device_frames(std::shared_ptr<device_memory> device, std::shared_ptr<memory_budget> budget,
                frame_holder& holder);
  ~device_frames() override;
  device_frames(const device_frames&) = delete;
  device_frames& operator=(const device_frames&) = delete;

  [[nodiscard]] std::byte* take(std::size_t bytes, lane user,
                                object_class cls = object_class::scratch) override;
  [[nodiscard]] std::byte* resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) override;
  void give(std::byte* frame, std::size_t bytes, const fence& behind) noexcept override;
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override;
  [[nodiscard]] bool moves_together() const noexcept override { return true; }
  [[nodiscard]] bool compact(std::size_t bytes) override;
  std::size_t trim_to(std::size_t keep) noexcept override;
  [[nodiscard]] std::size_t used_bytes() const noexcept override { return size_ - free_; }
  [[nodiscard]] std::size_t free_bytes() const noexcept override { return free_; }
  [[nodiscard]] memory_budget& budget() const noexcept override { return *budget_; }

 private:
  /// Free bytes.
  struct hole {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    fence behind{};
    [[nodiscard]] std::size_t end() const noexcept { return offset + bytes; }
  };
  using hole_list = std::vector<hole>;
  /// Part of the arena, while frames move together.
  struct part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool used = false;
  };
  /// Neighbouring parts: a first offset, and the offset behind the last one.
  using window = std::pair<std::size_t, std::size_t>;

  [[nodiscard]] bool grow_for(std::size_t bytes);
  [[nodiscard]] bool grow_by(std::size_t bytes);
  [[nodiscard]] hole_list::iterator first_fit(std::size_t bytes, bool low) noexcept;
  [[nodiscard]] hole_list::iterator hole_at(std::size_t offset) noexcept;
  void cut(hole_list::iterator from, std::size_t bytes, bool low) noexcept;
  void add_hole(const hole& added) noexcept;
  void order_behind(const fence& behind, lane user);
  [[nodiscard]] std::vector<part> parts() const;
  [[nodiscard]] window cheapest_window(std::size_t bytes);
  void slide(const window& within);

  std::shared_ptr<device_memory> device_;
  std::shared_ptr<memory_budget> budget_;
  frame_holder& holder_;
  std::unique_ptr<device_range> range_;
  std::size_t size_ = 0;  ///< of the arena: charged to the budget
  std::size_t free_ = 0;
  std::map<std::size_t, std::size_t> used_;  ///< frames: offset -> bytes
  hole_list holes_;                          ///< by offset; no two are neighbours
};

}  // namespace halocline::memory
