// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/lru.hpp"

#include "halocline/memory/policy/room.hpp"

namespace halocline::memory {

decision lru_policy::decide(const policy_state& state, const allocation_request& request) const {
  if (request.cls != object_class::scratch) return {placement::paged};
  return {pool_has_room(state, request.bytes) ? placement::pool : placement::refuse};
}

}  // namespace halocline::memory
