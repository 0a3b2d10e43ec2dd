// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/profiled.hpp"

#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/memory/policy/room.hpp"

namespace halocline::memory {

profiled_policy::profiled_policy(std::shared_ptr<const std::vector<std::uint8_t>> decisions)
    : decisions_(std::move(decisions)) {
  HALOCLINE_EXPECTS(decisions_ != nullptr, invalid_argument,
                    "memory policy 'profiled' needs decisions from a recorded run; make them with "
                    "make_decisions and pass them as policy_options::decisions");
  const auto bad =
      std::find_if(decisions_->begin(), decisions_->end(), [](std::uint8_t each) { return each > 1; });
  HALOCLINE_EXPECTS(bad == decisions_->end(), invalid_argument, "decision of allocation ",
                    bad - decisions_->begin(), " is ", static_cast<unsigned>(*bad),
                    "; expected 0 (managed) or 1 (pool)");
}

decision profiled_policy::decide(const policy_state& state, const allocation_request& request) const {
  const bool wanted = request.ordinal < decisions_->size() && (*decisions_)[request.ordinal] == 1;
  return {wanted && pool_has_room(state, request.bytes) ? placement::pool : placement::managed};
}

}  // namespace halocline::memory
