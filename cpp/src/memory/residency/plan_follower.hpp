// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "halocline/memory/plan/plan.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::memory {

/// Follows plans: what only strategies that move bytes as a plan says have.
class plan_follower {
 public:
  virtual ~plan_follower() = default;
  [[nodiscard]] virtual bool is_following() const noexcept = 0;
  /// Follows a plan from this thread's next step on.
  virtual void begin(std::shared_ptr<const plan::plan> source) = 0;
  virtual plan_outcome end() = 0;
  /// A buffer was allocated by the program, and is live.
  virtual void allocated(buffer_state& state) = 0;
  /// A step begins: carries out what the plan says before it, or gives the plan up.
  virtual void next_step(std::span<const step_use> uses, std::string_view op) = 0;
};

}  // namespace halocline::memory
