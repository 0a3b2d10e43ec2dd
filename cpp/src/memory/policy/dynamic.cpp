// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/dynamic.hpp"

#include <algorithm>

#include "halocline/core/expects.hpp"
#include "halocline/memory/policy/room.hpp"

namespace halocline::memory {

dynamic_policy::dynamic_policy(std::size_t needed, std::uint64_t range_limit)
    : needed_(needed), range_limit_(range_limit) {
  HALOCLINE_EXPECTS(needed > 0 && range_limit > 0, invalid_argument, "memory policy 'dynamic': history ",
                    needed, " and range limit ", range_limit, " must both be at least 1");
}

decision dynamic_policy::decide(const policy_state& state, const allocation_request& request) const {
  if (state.history == nullptr || state.history->recent.size() < needed_) return {placement::managed};
  const auto [low, high] = std::minmax_element(state.history->recent.begin(), state.history->recent.end());
  const bool steady = *high - *low < range_limit_;
  return {steady && pool_has_room(state, request.bytes) ? placement::pool : placement::managed};
}

}  // namespace halocline::memory
