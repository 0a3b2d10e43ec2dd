// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/managed.hpp"

namespace halocline::memory {

decision managed_policy::decide(const policy_state&, const allocation_request&) const {
  return {placement::managed};
}

}  // namespace halocline::memory
