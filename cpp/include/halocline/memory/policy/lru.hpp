// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Explicit copies without look-ahead: everything but scratch is paged, and the least recently used frame
/// goes first. Scratch is pinned in the pool, and refused when the budget cannot hold it even with every
/// paged object evicted.
class lru_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "lru"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {eviction::least_recent_use}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
