// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/stats.hpp"

namespace halocline::memory {

/// What a policy is asked: may these bytes be placed in the fast tier?
struct allocation_request {
  std::size_t bytes = 0;
  object_class cls{};
  std::string_view tag;
};

/// What a policy sees of the runtime when it decides.
struct policy_state {
  std::size_t budget_bytes = 0;  ///< bytes of the fast tier that may be used
  stats counters;
};

/// What the runtime must do with a request.
enum class placement : unsigned char {
  device,  ///< place in the fast tier
  refuse,  ///< no room: the runtime throws out_of_memory
};

/// Decides where allocations go. The decision is a pure function of state and request, so that it can be
/// tested without a device; the runtime carries it out. Policies that move bytes extend `placement` with
/// the tier they move to and are driven by the same call.
class policy {
 public:
  virtual ~policy() = default;
  /// As `make_policy` calls it.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Where the bytes go. Pure: the same state and request give the same answer.
  [[nodiscard]] virtual placement decide(const policy_state& state,
                                         const allocation_request& request) const = 0;
};

/// Creates a policy by the name that users give.
/// @throws invalid_argument naming the known policies when `name` is none of them.
[[nodiscard]] std::unique_ptr<policy> make_policy(std::string_view name);

/// Names accepted by `make_policy`.
[[nodiscard]] std::vector<std::string> policy_names();

}  // namespace halocline::memory
