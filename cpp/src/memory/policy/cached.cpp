// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/cached.hpp"

#include "halocline/memory/policy/room.hpp"

namespace halocline::memory {

decision cached_policy::decide(const policy_state& state, const allocation_request& request) const {
  return {pool_has_room(state, request.bytes) ? placement::pool : placement::refuse};
}

}  // namespace halocline::memory
