// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/stats.hpp"

namespace halocline::memory {

/// A request to a policy for the placement of an allocation.
struct allocation_request {
  std::size_t bytes = 0;
  object_class cls{};
  std::string_view tag;
  std::uint64_t ordinal = 0;  ///< allocations before this one since the runtime, or the program, began
};

/// Live allocations of one size, as the dynamic scheme of the hybrid paper keeps them (section III-D).
struct size_history {
  std::uint64_t live = 0;             ///< allocated and not yet freed, without the request at hand
  std::vector<std::uint64_t> recent;  ///< the last live counts, each taken after an allocation; oldest first
};

/// State of the runtime that a policy decides on.
struct policy_state {
  std::size_t budget_bytes = 0;  ///< bytes of the fast tier that may be used; 0: unlimited
  std::size_t pool_bytes = 0;    ///< live bytes with placement `pool`
  stats counters;
  const size_history* history = nullptr;  ///< of the request's size; nullptr when it was never seen
};

/// Where bytes live and what may happen to them.
enum class placement : unsigned char {
  pool,     ///< fast tier, stream-ordered, until they are freed
  managed,  ///< unified memory: migrates when touched, any class, in blocks, by the driver's rules
  paged,    ///< explicit copies by the pager: gets a frame when touched, may lose it between steps
  refuse,   ///< no room: out_of_memory
};

/// Hint to the driver for managed bytes (cudaMemAdvise).
enum class advice : unsigned char {
  none,
  read_mostly,       ///< dropped without write-back
  preferred_device,  ///< leaves the fast tier last
};

/// Answer of a policy.
struct decision {
  placement where{};
  advice hint = advice::none;

  bool operator==(const decision&) const = default;
};

/// Order of eviction.
enum class eviction : unsigned char {
  none,                    ///< nothing moves
  least_recent_use,        ///< the pager sees every use
  least_recent_migration,  ///< a driver sees faults only, not hits
  planned,                 ///< as the plan says; least recent use without one
};

/// How freed blocks of the fast tier are kept for re-use.
enum class block_reuse : unsigned char {
  stream_ordered,  ///< a pool (cudaMallocAsync), equal sizes
  smallest_fit,    ///< free list keyed by capacity, smallest that fits, flushed under pressure (XeHE III-E)
};

/// Requirements of a policy on the runtime; constant for a policy.
struct policy_traits {
  eviction order = eviction::none;
  block_reuse reuse = block_reuse::stream_ordered;
  bool looks_back = false;                                         ///< decides by `policy_state::history`
  bool moves() const noexcept { return order != eviction::none; }  ///< needs a slow tier
};

/// Decides where allocations go. The decision is a pure function of state and request, so that it can be
/// tested without a device; the runtime, or a simulated device, carries it out and keeps the state. All
/// policies are rows of one table (`src/memory/policy/policy_table.cpp`).
class policy {
 public:
  /// How a policy decides. Pure: the same arguments give the same answer.
  using rule = decision (*)(const policy_options& constants, const policy_state& state,
                            const allocation_request& request);

  /// As `make_policy` calls it.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] const policy_traits& traits() const noexcept { return traits_; }
  /// Where the bytes go.
  [[nodiscard]] decision decide(const policy_state& state, const allocation_request& request) const {
    return rule_(constants_, state, request);
  }

 private:
  friend policy make_policy(std::string_view name, const policy_options& constants);
  policy(std::string_view name, const policy_traits& traits, rule how, policy_options constants)
      : name_(name), traits_(traits), rule_(how), constants_(std::move(constants)) {}

  std::string_view name_;  ///< of the table, which lives as long as the process
  policy_traits traits_;
  rule rule_;
  policy_options constants_;
};

/// Creates a policy by the name that users give.
/// @throws invalid_argument naming the known policies when `name` is none of them, when `profiled` has no
///   decisions, or when a constant of `dynamic` is 0 or asks for more live counts than are kept.
[[nodiscard]] policy make_policy(std::string_view name, const policy_options& constants = {});

}  // namespace halocline::memory
