// SPDX-License-Identifier: Apache-2.0
#include "memory/residency/residency.hpp"

#include <utility>

#include "halocline/memory/tier/chain_store.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "memory/buffer_state.hpp"
#include "memory/device/device_transport.hpp"
#include "memory/device/step_timer.hpp"
#include "memory/residency/fixed.hpp"
#include "memory/residency/ghost.hpp"
#include "memory/residency/paged.hpp"
#include "memory/residency/unified.hpp"

namespace halocline::memory {
namespace {

std::shared_ptr<store> slow_tier_of(const runtime_options& options) {
  if (options.slow != nullptr) return options.slow;
  file_store_options file;
  file.folder = options.tier_folder;
  file.capacity_bytes = options.tier_limit_bytes;
  return make_file_store(file);
}

std::unique_ptr<residency> make_paged(const residency_parts& parts) {
  std::shared_ptr<store> slow = slow_tier_of(parts.options);
  if (parts.options.device) {
    return std::make_unique<paged_residency>(parts, make_device_transport(parts.options, std::move(slow)),
                                             std::make_unique<step_timer>(parts.options.device));
  }
  chain_options chain;
  chain.memory_bytes = parts.options.tier_memory_bytes;
  chain.file = std::move(slow);
  chain.requests = parts.options.remote_requests;
  return std::make_unique<paged_residency>(parts, make_host_transport(make_chain_store(chain)),
                                           std::make_unique<step_clock>());
}

}  // namespace

std::unique_ptr<residency> make_residency(const residency_parts& parts) {
  if (parts.options.ghost) return std::make_unique<ghost_residency>();
  if (!parts.traits.moves()) return std::make_unique<fixed_residency>(parts);
  // Without an accelerator explicit copies imitate what its driver would do.
  const bool is_unified = parts.options.device && parts.traits.order == eviction::least_recent_migration;
  if (is_unified) return std::make_unique<unified_residency>(parts);
  return make_paged(parts);
}

plan::cost_model default_costs(const runtime_options& options) {
  plan::cost_model costs;
  if (options.device) {
    costs.expand = plan::accelerator_expand;
    costs.encode = plan::accelerator_encode;
  }
  return costs;
}

// What most strategies have in common.

std::size_t residency::held_bytes(const buffer_state& state) const noexcept { return state.bytes; }
bool residency::is_timed(std::string_view) { return false; }
void residency::unpin(pinned_step&) noexcept {}
void residency::set_budget(std::size_t) {}
const budget_member* residency::member() const noexcept { return nullptr; }
bool residency::reads_remote() noexcept { return false; }
void residency::set_remote(buffer_state&, std::shared_ptr<const remote_contents>) {}
void residency::leave_to_recipe(buffer_state&) {}
fetched residency::fetch(buffer_state&) { return fetched::done; }
void residency::set_spare(buffer_state&, bool) {}
void residency::leave_fast(buffer_state&, bool) {}
void residency::describe_chain(plan::planner_options&) {}
store_stats residency::slow_statistics() { return {}; }
std::vector<link_stats> residency::link_statistics() { return {}; }
void residency::reset_peak() noexcept {}
bool residency::moves() const noexcept { return false; }
bool residency::resizes() const noexcept { return true; }
const char* residency::why_it_stays() const noexcept { return nullptr; }
plan::cost_model residency::measured_costs(const plan::cost_model& base) { return base; }
void residency::forget_costs() {}
plan_follower* residency::plans() noexcept { return nullptr; }

}  // namespace halocline::memory
