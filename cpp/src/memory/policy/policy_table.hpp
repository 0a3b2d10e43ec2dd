// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

/// What a policy is: its name, what it asks of the machinery around it, and how it decides.
struct policy_row {
  std::string_view name;
  policy_traits traits;
  policy::rule decide;
  /// @throws invalid_argument for constants with which the policy cannot decide
  void (*check)(const policy_options& constants);
};

/// All policies, in the order of the documentation.
[[nodiscard]] std::span<const policy_row> policy_table() noexcept;

}  // namespace halocline::memory
