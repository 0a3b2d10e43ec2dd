// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/resident.hpp"

namespace halocline::memory {

decision resident_policy::decide(const policy_state& state, const allocation_request& request) const {
  if (state.budget_bytes == 0) return {placement::pool};
  const std::size_t live = state.counters.live_bytes;
  const bool fits = request.bytes <= state.budget_bytes && live <= state.budget_bytes - request.bytes;
  return {fits ? placement::pool : placement::refuse};
}

}  // namespace halocline::memory
