// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "halocline/pir/database.hpp"

namespace halocline::pir {

/// Budgets of a host in which a server is made and answers one query at a time with the keys of its client;
/// larger batches are divided.
struct least_budgets {
  std::uint64_t resident_bytes = 0;  ///< where nothing moves, as under the policy `resident`
  std::uint64_t lru_bytes = 0;       ///< where buffers move; a plan needs no more
};
/// Budgets that are enough, larger than the smallest ones by a sixteenth at most as far as is found: what is
/// needed depends on the sizes in which a server works, which it chooses by its budget. Runs servers on
/// ghosts, some ten times: milliseconds for databases of a few GiB.
[[nodiscard]] least_budgets find_least_budgets(const geometry& of, storage kept);

/// Whether a budget is too small for a server under that policy: `resident`, `lru` or `planned`. A budget
/// that lacks less than a sixteenth passes, because the forecast may be that much too high. One run on a
/// ghost.
/// @throws invalid_argument for another policy
[[nodiscard]] bool falls_short(const geometry& of, storage kept, std::uint64_t budget_bytes,
                               std::string_view policy);

}  // namespace halocline::pir
