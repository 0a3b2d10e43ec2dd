// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Like `async`, but freed blocks are kept in a list keyed by capacity: a request takes the smallest block
/// that fits, and the list is flushed before anything is refused (XeHE section III-E).
class cached_policy final : public policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cached"; }
  [[nodiscard]] policy_traits traits() const noexcept override {
    return {eviction::none, block_reuse::smallest_fit};
  }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;
};

}  // namespace halocline::memory
