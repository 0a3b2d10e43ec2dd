// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/device/managed_blocks.hpp"
#include "memory/residency/block_pool.hpp"

namespace halocline::memory {

/// Unified memory of an accelerator, whose driver moves what does not fit, beside a pool whose blocks stay.
class unified_residency final : public residency {
 public:
  explicit unified_residency(const residency_parts& parts);

  [[nodiscard]] std::size_t budget_left(std::size_t live_bytes) const noexcept override {
    return pool_.budget_left(live_bytes);
  }
  [[nodiscard]] placing place(buffer_state& state) override;
  void free(buffer_state& state) noexcept override;
  void forsake(buffer_state& state) noexcept override;
  [[nodiscard]] placing bring(std::span<const step_use> uses, std::string_view op, std::size_t touched,
                              std::unique_ptr<pinned_step>& pinned) override;
  void set_budget(std::size_t bytes) override;
  void trim() noexcept override;
  void report(stats& counters) override;
  void reset_peak() noexcept override;
  [[nodiscard]] bool resizes() const noexcept override { return false; }
  [[nodiscard]] const char* why_it_stays() const noexcept override { return stays_with_driver; }

 private:
  [[nodiscard]] placing place_in_pool(buffer_state& state);
  void note_peak() noexcept;

  block_pool pool_;
  managed_blocks blocks_;
  std::size_t pool_bytes_ = 0;  ///< in use
  std::size_t peak_bytes_ = 0;
};

}  // namespace halocline::memory
