// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Everything lives in the fast tier; a request that would exceed the budget is refused.
class resident_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "resident"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
