// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/policy.hpp"

#include <array>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/memory/policy/async.hpp"
#include "halocline/memory/policy/cached.hpp"
#include "halocline/memory/policy/dynamic.hpp"
#include "halocline/memory/policy/lru.hpp"
#include "halocline/memory/policy/managed.hpp"
#include "halocline/memory/policy/planned.hpp"
#include "halocline/memory/policy/profiled.hpp"
#include "halocline/memory/policy/resident.hpp"
#include "halocline/memory/policy/static_policy.hpp"

namespace halocline::memory {
namespace {

using maker = std::unique_ptr<policy> (*)(const policy_options&);

template <typename PolicyT>
std::unique_ptr<policy> plain(const policy_options&) {
  return std::make_unique<PolicyT>();
}

std::unique_ptr<policy> profiled(const policy_options& options) {
  return std::make_unique<profiled_policy>(options.decisions);
}

std::unique_ptr<policy> dynamic(const policy_options& options) {
  HALOCLINE_EXPECTS(options.history_needed <= options.history_length, invalid_argument,
                    "memory policy 'dynamic' waits for ", options.history_needed,
                    " live counts per size, but only ", options.history_length, " are kept");
  return std::make_unique<dynamic_policy>(options.history_needed, options.range_limit);
}

constexpr std::array<std::pair<std::string_view, maker>, 9> makers{{
    {"resident", plain<resident_policy>},
    {"async", plain<async_policy>},
    {"managed", plain<managed_policy>},
    {"static", plain<static_policy>},
    {"profiled", profiled},
    {"dynamic", dynamic},
    {"cached", plain<cached_policy>},
    {"lru", plain<lru_policy>},
    {"planned", plain<planned_policy>},
}};

}  // namespace

std::unique_ptr<policy> make_policy(std::string_view name, const policy_options& options) {
  std::string known;
  for (const auto& [each, make] : makers) {
    if (each == name) return make(options);
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  throw invalid_argument(text("unknown memory policy '", name, "'; this build has: ", known));
}

std::vector<std::string> policy_names() {
  std::vector<std::string> result;
  for (const auto& [each, make] : makers) result.emplace_back(each);
  return result;
}

}  // namespace halocline::memory
