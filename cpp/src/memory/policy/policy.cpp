// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/policy.hpp"

#include "halocline/core/expects.hpp"
#include "halocline/memory/policy/resident.hpp"

namespace halocline::memory {

std::unique_ptr<policy> make_policy(std::string_view name, const policy_options&) {
  if (name == "resident") return std::make_unique<resident_policy>();
  std::string known;
  for (const std::string& each : policy_names()) known += (known.empty() ? "" : ", ") + each;
  throw invalid_argument(text("unknown memory policy '", name, "'; this build has: ", known));
}

std::vector<std::string> policy_names() { return {"resident"}; }

}  // namespace halocline::memory
