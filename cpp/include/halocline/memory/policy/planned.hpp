// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Explicit copies that follow a plan made from a ghost trace (`memory/plan`). Placements are those of `lru`,
/// which takes over where a program leaves its plan.
class planned_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "planned"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {eviction::planned}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
