// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/static_policy.hpp"

#include "halocline/memory/policy/room.hpp"

namespace halocline::memory {

decision static_policy::decide(const policy_state& state, const allocation_request& request) const {
  switch (request.cls) {
    case object_class::scratch:
      return {pool_has_room(state, request.bytes) ? placement::pool : placement::managed};
    case object_class::table:
      return {placement::managed, advice::preferred_device};
    case object_class::evaluation_key:
    case object_class::plaintext:
      return {placement::managed, advice::read_mostly};
    case object_class::ciphertext:
      break;
  }
  return {placement::managed};
}

}  // namespace halocline::memory
