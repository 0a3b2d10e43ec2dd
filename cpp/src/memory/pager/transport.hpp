// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/tier/link_speed.hpp"
#include "halocline/memory/tier/store.hpp"
#include "memory/pager/frames.hpp"
#include "memory/pager/recipe_clock.hpp"

namespace halocline::memory {

class pager;

/// What paging does differently in host memory and on an accelerator: where frames come from, and how copies
/// and operations are ordered. Unless said otherwise work is done when a call returns, as in host memory, and
/// there is nothing to order.
class transport {
 public:
  explicit transport(const std::shared_ptr<device_memory>& device) : recipes_(device) {}
  virtual ~transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  /// Frames of the fast tier.
  /// @param holder outlives them
  [[nodiscard]] virtual std::unique_ptr<frames> make_frames(std::shared_ptr<memory_budget> budget,
                                                            frame_holder& holder) = 0;
  [[nodiscard]] virtual store& slow() noexcept = 0;
  /// Times of recipes.
  [[nodiscard]] recipe_clock& recipes() noexcept { return recipes_; }

  /// Releases a transfer whose frame is reused; its next use is ordered behind the returned moments. Nothing:
  /// the transfer continues, and must be waited for before the frame is used.
  [[nodiscard]] virtual std::optional<fence> let_go(transfer_id transfer) noexcept = 0;
  /// Overwrites the bytes of a frame with zeros, after the operations that use it.
  virtual void wipe(std::byte* frame, std::size_t bytes) noexcept = 0;
  /// In a forked child: overwrites this process's copy of a frame, where it has one.
  virtual void wipe_inherited(std::byte* frame, std::size_t bytes) noexcept = 0;

  /// Reads between these two belong to one step.
  virtual void begin_reads() noexcept {}
  virtual void end_reads() noexcept {}
  /// Operations may have been queued: later reads are ordered behind them.
  virtual void compute_went_on() noexcept {}
  /// A frame is about to be taken from its buffer to make room.
  virtual void before_eviction() {}
  /// Whether reads that were started have been done, so that others do not delay them.
  [[nodiscard]] virtual bool is_link_idle() { return true; }
  /// Whether other runtimes may be handed frames while operations are being queued by another thread.
  [[nodiscard]] virtual bool may_share_during_steps() const noexcept { return true; }

  /// Speed of the copies to and from the slow tier. Slow: some 30 ms.
  /// @param pages lends a frame where one is needed
  [[nodiscard]] virtual link_speed measure_link(pager& pages) = 0;

 private:
  recipe_clock recipes_;
};

/// Transport between host memory and a slow tier.
[[nodiscard]] std::unique_ptr<transport> make_host_transport(std::shared_ptr<store> slow);

}  // namespace halocline::memory
