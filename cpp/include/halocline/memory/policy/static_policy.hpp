// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Hybrid paper, section III-A: temporary buffers, which the call sites of the library mark as scratch, go to
/// the stream-ordered pool while it has room; the rest is managed. Tables are advised to stay on the device,
/// keys and plaintexts are advised read-mostly.
class static_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "static"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {eviction::least_recent_migration}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
