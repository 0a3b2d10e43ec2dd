// SPDX-License-Identifier: Apache-2.0
// Papers: docs/concepts/policies.md.
#include "memory/policy/policy_table.hpp"

#include <algorithm>
#include <array>

#include "halocline/core/expects.hpp"
#include "halocline/memory/policy/room.hpp"

namespace halocline::memory {
namespace {

decision pool_or(placement otherwise, const policy_state& state, const allocation_request& request) {
  return {pool_has_room(state, request.bytes) ? placement::pool : otherwise};
}

/// Everything lives in the fast tier; a request that would exceed the budget is refused.
decision by_live_bytes(const policy_options&, const policy_state& state, const allocation_request& request) {
  if (state.budget_bytes == 0) return {placement::pool};
  const std::size_t live = state.counters.live_bytes;
  const bool fits = request.bytes <= state.budget_bytes && live <= state.budget_bytes - request.bytes;
  return {fits ? placement::pool : placement::refuse};
}

/// Everything goes to the stream-ordered pool, as `cudaMallocAsync` does for all buffers; a request beyond
/// the budget is refused (default of HEaaN, hybrid paper section III-A).
decision by_pool(const policy_options&, const policy_state& state, const allocation_request& request) {
  return pool_or(placement::refuse, state, request);
}

/// Everything is unified memory (`cudaMallocManaged`): the baseline of the hybrid paper. Nothing is refused;
/// what does not fit is migrated by the driver.
decision always_managed(const policy_options&, const policy_state&, const allocation_request&) {
  return {placement::managed};
}

/// Hybrid paper, section III-A: temporary buffers, which the call sites of the library mark as scratch, go to
/// the stream-ordered pool while it has room; the rest is managed. Tables are advised to stay on the device,
/// keys and plaintexts are advised read-mostly.
decision by_class(const policy_options&, const policy_state& state, const allocation_request& request) {
  switch (request.cls) {
    case object_class::scratch:
      return pool_or(placement::managed, state, request);
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

/// Hybrid paper, section III-C: a list made from a recorded run (`decision_file.hpp`) says for every
/// allocation, by its ordinal, whether it goes to the pool. Allocations beyond the list, and those for which
/// the pool has no room, are managed.
decision by_list(const policy_options& constants, const policy_state& state,
                 const allocation_request& request) {
  const std::vector<std::uint8_t>& list = *constants.decisions;
  const bool wanted = request.ordinal < list.size() && list[request.ordinal] == 1;
  return wanted ? pool_or(placement::managed, state, request) : decision{placement::managed};
}

/// Hybrid paper, section III-D: the past of a size decides. A size is managed until enough of its live counts
/// are kept; then it goes to the pool while their range, maximum minus minimum, is below a limit: buffers
/// that come and go have a narrow range, buffers that accumulate a wide one. What the pool has no room for is
/// managed.
decision by_history(const policy_options& constants, const policy_state& state,
                    const allocation_request& request) {
  if (state.history == nullptr) return {placement::managed};
  const std::vector<std::uint64_t>& recent = state.history->recent;
  if (recent.size() < constants.history_needed) return {placement::managed};
  const auto [low, high] = std::minmax_element(recent.begin(), recent.end());
  const bool is_steady = *high - *low < constants.range_limit;
  return is_steady ? pool_or(placement::managed, state, request) : decision{placement::managed};
}

/// Explicit copies: everything but scratch is paged. Scratch is pinned in the pool, and refused when the
/// budget cannot hold it even with every paged object evicted.
decision all_but_scratch_paged(const policy_options&, const policy_state& state,
                               const allocation_request& request) {
  if (request.cls != object_class::scratch) return {placement::paged};
  return pool_or(placement::refuse, state, request);
}

void no_constants(const policy_options&) {}

void check_list(const policy_options& constants) {
  HALOCLINE_EXPECTS(constants.decisions != nullptr, invalid_argument,
                    "memory policy 'profiled' needs decisions from a recorded run; make them with "
                    "make_decisions and pass them as policy_options::decisions");
  const std::vector<std::uint8_t>& list = *constants.decisions;
  const auto bad = std::find_if(list.begin(), list.end(), [](std::uint8_t each) { return each > 1; });
  HALOCLINE_EXPECTS(bad == list.end(), invalid_argument, "decision of allocation ", bad - list.begin(),
                    " is ", static_cast<unsigned>(*bad), "; expected 0 (managed) or 1 (pool)");
}

void check_history(const policy_options& constants) {
  HALOCLINE_EXPECTS(constants.history_needed <= constants.history_length, invalid_argument,
                    "memory policy 'dynamic' waits for ", constants.history_needed,
                    " live counts per size, but only ", constants.history_length, " are kept");
  HALOCLINE_EXPECTS(constants.history_needed > 0 && constants.range_limit > 0, invalid_argument,
                    "memory policy 'dynamic': history ", constants.history_needed, " and range limit ",
                    constants.range_limit, " must both be at least 1");
}

constexpr policy_traits stays{};
constexpr policy_traits unified{eviction::least_recent_migration};

constexpr std::array<policy_row, 9> table{{
    {"resident", stays, by_live_bytes, no_constants},
    {"async", stays, by_pool, no_constants},
    {"managed", unified, always_managed, no_constants},
    {"static", unified, by_class, no_constants},
    {"profiled", unified, by_list, check_list},
    {"dynamic",
     {eviction::least_recent_migration, block_reuse::stream_ordered, true},
     by_history,
     check_history},
    // Freed blocks are kept in a list keyed by capacity: a request takes the smallest block that fits, and
    // the list is flushed before anything is refused (XeHE section III-E).
    {"cached", {eviction::none, block_reuse::smallest_fit}, by_pool, no_constants},
    // Without look-ahead: the least recently used frame goes first.
    {"lru", {eviction::least_recent_use}, all_but_scratch_paged, no_constants},
    // Follows a plan made from a ghost trace (`memory/plan`), and `lru` where a program leaves it.
    {"planned", {eviction::planned}, all_but_scratch_paged, no_constants},
}};

}  // namespace

std::span<const policy_row> policy_table() noexcept { return table; }

}  // namespace halocline::memory
