// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Everything is unified memory (`cudaMallocManaged`): the baseline of the hybrid paper. Nothing is refused;
/// what does not fit is migrated by the driver.
class managed_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "managed"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {eviction::least_recent_migration}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
