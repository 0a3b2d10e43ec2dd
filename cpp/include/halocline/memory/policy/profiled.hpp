// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// Hybrid paper, section III-C: a list made from a recorded run (`decision_file.hpp`) says for every
/// allocation, by its ordinal, whether it goes to the pool. Allocations beyond the list, and those for which
/// the pool has no room, are managed.
class profiled_policy final : public policy {
 public:
  /// @throws invalid_argument when `decisions` is null or has an entry above 1.
  explicit profiled_policy(std::shared_ptr<const std::vector<std::uint8_t>> decisions);
  [[nodiscard]] std::string_view name() const noexcept override { return "profiled"; }
  [[nodiscard]] policy_traits traits() const noexcept override { return {eviction::least_recent_migration}; }
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const override;

 private:
  std::shared_ptr<const std::vector<std::uint8_t>> decisions_;
};

}  // namespace halocline::memory
