// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/tier.hpp"
#include "memory/residency/residency.hpp"

namespace halocline::memory {

/// Blocks of a tier within a budget, which stay where they are until they are freed.
class block_pool {
 public:
  block_pool(std::unique_ptr<tier> place, std::shared_ptr<memory_budget> budget);

  [[nodiscard]] placing place(buffer_state& state);
  void free(buffer_state& state) noexcept;
  void forsake(buffer_state& state) noexcept;
  void trim() noexcept { place_->trim(); }
  /// Bytes kept for re-use.
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return place_->cached_bytes(); }
  /// Those, and what blocks in use have beyond what was asked for.
  [[nodiscard]] std::size_t kept_bytes() const noexcept {
    return place_->cached_bytes() + place_->slack_bytes();
  }
  /// Bytes of the budget but for what others hold; 0: unlimited.
  [[nodiscard]] std::size_t budget_left(std::size_t live_bytes) const noexcept;

 private:
  [[nodiscard]] bool keeps_within_budget();

  std::unique_ptr<tier> place_;
  std::shared_ptr<memory_budget> budget_;
};

/// The tier that a policy asks for, in host memory or on the accelerator of the options: adaptors around what
/// gives the blocks.
[[nodiscard]] std::unique_ptr<tier> make_block_tier(const runtime_options& options,
                                                    const policy_traits& traits);

}  // namespace halocline::memory
