// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Everything goes to the stream-ordered pool, as `cudaMallocAsync` does for all buffers; a request beyond
/// the budget is refused (default of HEaaN, hybrid paper section III-A).
class async_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "async"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
