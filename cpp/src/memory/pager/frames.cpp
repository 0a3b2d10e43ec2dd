// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/frames.hpp"

#include <utility>

#include "memory/pager/frame_pool.hpp"

namespace halocline::memory {
namespace {

/// Work on host memory is done when a call returns: there is nothing to order.
class host_frames final : public frames {
 public:
  host_frames(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget)
      : pool_(std::move(place), std::move(budget)) {}

  [[nodiscard]] std::byte* take(std::size_t bytes, lane, object_class cls) override {
    return pool_.take(bytes, cls);
  }
  [[nodiscard]] std::byte* resize(std::byte* frame, std::size_t bytes, std::size_t new_bytes) override {
    return pool_.resize(frame, bytes, new_bytes);
  }
  void give(std::byte* frame, std::size_t bytes, const fence&) noexcept override { pool_.give(frame, bytes); }
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override { return pool_.has_room(bytes); }
  [[nodiscard]] bool moves_together() const noexcept override { return false; }
  [[nodiscard]] bool compact(std::size_t) override { return false; }
  std::size_t trim_to(std::size_t keep) noexcept override { return pool_.trim_to(keep); }
  [[nodiscard]] std::size_t used_bytes() const noexcept override { return pool_.used_bytes(); }
  [[nodiscard]] std::size_t free_bytes() const noexcept override { return pool_.free_bytes(); }
  [[nodiscard]] bool is_refused_by_place() const noexcept override { return pool_.is_refused_by_place(); }
  [[nodiscard]] memory_budget& budget() const noexcept override { return pool_.budget(); }

 private:
  frame_pool pool_;
};

}  // namespace

std::unique_ptr<frames> make_host_frames(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget) {
  return std::make_unique<host_frames>(std::move(place), std::move(budget));
}

}  // namespace halocline::memory
