// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/residency/block_pool.hpp"

namespace halocline::memory {

/// Blocks that stay in the fast tier from allocation to free: host memory, or the pool of an accelerator.
class fixed_residency final : public residency {
 public:
  explicit fixed_residency(const residency_parts& parts)
      : pool_(make_block_tier(parts.options, parts.traits), parts.budget),
        on_device_(parts.options.device != nullptr) {}

  [[nodiscard]] std::size_t budget_left(std::size_t live_bytes) const noexcept override {
    return pool_.budget_left(live_bytes);
  }
  [[nodiscard]] placing place(buffer_state& state) override { return pool_.place(state); }
  void free(buffer_state& state) noexcept override { pool_.free(state); }
  void forsake(buffer_state& state) noexcept override { pool_.forsake(state); }
  [[nodiscard]] placing bring(std::span<const step_use>, std::string_view, std::size_t,
                              std::unique_ptr<pinned_step>&) override {
    return placing::done;
  }
  void set_budget(std::size_t) override { pool_.trim(); }
  void trim() noexcept override { pool_.trim(); }
  void report(stats& counters) override {
    counters.cached_bytes = pool_.cached_bytes();
    counters.fast_bytes = counters.live_bytes + pool_.kept_bytes();
    counters.peak_fast_bytes = counters.peak_bytes;
  }
  [[nodiscard]] const char* why_it_stays() const noexcept override {
    return on_device_ ? stays_with_driver : nullptr;
  }

 private:
  block_pool pool_;
  bool on_device_;
};

}  // namespace halocline::memory
