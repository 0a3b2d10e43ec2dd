// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/policy.hpp"

#include "halocline/core/expects.hpp"
#include "memory/policy/policy_table.hpp"

namespace halocline::memory {

policy make_policy(std::string_view name, const policy_options& constants) {
  std::string known;
  for (const policy_row& each : policy_table()) {
    if (each.name == name) {
      each.check(constants);
      return policy(each.name, each.traits, each.decide, constants);
    }
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw invalid_argument(text("unknown memory policy '", name, "'; this build has: ", known));
}

std::vector<std::string> policy_names() {
  std::vector<std::string> result;
  for (const policy_row& each : policy_table()) result.emplace_back(each.name);
  return result;
}

}  // namespace halocline::memory
