// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Hybrid paper, section III-D: the past of a size decides. A size is managed until enough of its live counts
/// are kept; then it goes to the pool while their range, maximum minus minimum, is below a limit: buffers
/// that come and go have a narrow range, buffers that accumulate a wide one. What the pool has no room for is
/// managed.
class dynamic_policy final : public policy {
 public:
  /// @param needed live counts that must be kept before a size may go to the pool; at least 1
  /// @param range_limit the paper's X: pool while maximum - minimum is below it; at least 1
  /// @throws invalid_argument when either is 0.
  dynamic_policy(std::size_t needed, std::uint64_t range_limit);
  [[nodiscard]] std::string_view name() const noexcept override { return "dynamic"; }
  [[nodiscard]] policy_traits traits() const noexcept override {
    return {eviction::least_recent_migration, block_reuse::stream_ordered, true};
  }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;

 private:
  std::size_t needed_;
  std::uint64_t range_limit_;
};

}  // namespace halocline::memory
