// SPDX-License-Identifier: Apache-2.0
// Recording, statistics and messages of the runtime.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "halocline/core/clock.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier.hpp"
#include "memory/buffer_state.hpp"
#include "memory/device/device_side.hpp"
#include "memory/pager/cost_meter.hpp"
#include "memory/pager/pager.hpp"
#include "memory/pager/plan_executor.hpp"
#include "memory/pinned_step.hpp"

namespace halocline::memory {
namespace {

constexpr std::uint64_t ghost_step_ns = 1000;

std::string_view recovery_of(const buffer_state& state) {
  return to_string(state.source ? state.source->kind() : recovery::copy);
}

/// "@0123456789abcdef" for named buffers.
std::string identity_suffix(const buffer_state& state) {
  if (state.identity == 0) return {};
  std::array<char, 18> digits{};
  std::snprintf(digits.data(), digits.size(), "@%016llx", static_cast<unsigned long long>(state.identity));
  return digits.data();
}

/// The largest groups of live buffers, for people.
std::string largest_objects(const std::vector<buffer_state*>& live) {
  std::map<std::pair<std::string, object_class>, std::pair<std::size_t, std::size_t>> groups;
  for (const buffer_state* each : live) {
    auto& [count, total] = groups[{each->tag, each->cls}];
    ++count;
    total += each->bytes;
  }
  std::vector<std::pair<std::size_t, std::string>> largest;
  for (const auto& [key, value] : groups) {
    largest.emplace_back(value.second, text(format_bytes(value.second), " in ", value.first, " ", key.first,
                                            " (", to_string(key.second), ")"));
  }
  std::sort(largest.rbegin(), largest.rend());
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, largest.size()); ++i) {
    list += (i == 0 ? "; largest: " : ", ") + largest[i].second;
  }
  return list;
}

/// Who else holds bytes of a budget, for people.
class competition {
 public:
  explicit competition(const memory_budget& budget) : own_(budget.own()), others_(budget.others()) {}

  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const memory_budget::holding& each : others_) total += each.bytes;
    return total;
  }

  [[nodiscard]] std::string description() const {
    if (others_.empty()) return {};
    constexpr std::size_t named = 4;
    std::string names;
    for (std::size_t i = 0; i < std::min(named, others_.size()); ++i) {
      const std::string& name = others_[i].name;
      names +=
          text(i == 0 ? "" : ", ", name.empty() ? "unnamed" : name, ": ", format_bytes(others_[i].bytes));
    }
    if (others_.size() > named) names += ", ...";
    return text(", of which this one holds ", format_bytes(own_), " and ", others_.size(),
                others_.size() == 1 ? " other that shares it holds " : " others that share it hold ",
                format_bytes(bytes()), " (", names, ")");
  }

  [[nodiscard]] std::string advice() const {
    if (others_.empty()) return {};
    return " while the others hold that much; free objects of theirs, or let allocations wait for them "
           "(longer): MemoryBudget(..., wait=seconds)";
  }

 private:
  std::size_t own_;
  std::vector<memory_budget::holding> others_;
};

}  // namespace

void runtime::start_trace() {
  const std::lock_guard lock(mutex_);
  trace_ = {};
  trace_numbers_ = {};
  ++recording_;
  trace_start_ns_ = now_ns();
  trace_start_step_ = stats_.steps;
  tracing_ = true;
}

trace runtime::stop_trace() {
  const std::lock_guard lock(mutex_);
  tracing_ = false;
  return std::exchange(trace_, {});
}

void runtime::set_phase(std::string phase) {
  const std::lock_guard lock(mutex_);
  phase_ = std::move(phase);
  trace_numbers_.tags.clear();
}

void runtime::record_step(std::span<const operand> reads, std::span<const operand> writes,
                          std::string_view op, std::uint64_t stream) {
  const auto note = [&](const operand& each, trace_action action) {
    buffer_state& state = *each.data->state_;
    if (state.recording != recording_) record(trace_action::exists, state, 0, state.bytes, "-", 0);
    record(action, state, each.offset, each.bytes, op, stream);
  };
  for (const operand& each : reads) note(each, trace_action::read);
  for (const operand& each : writes) note(each, trace_action::write);
}

std::uint32_t runtime::number_of_op(std::string_view op) {
  // The rows of a step follow each other.
  if (trace_numbers_.op != op) {
    trace_numbers_.op_number = trace_.intern(op);
    trace_numbers_.op = op;
  }
  return trace_numbers_.op_number;
}

std::uint32_t runtime::number_of_tag(const char* tag) {
  const auto [place, fresh] = trace_numbers_.tags.try_emplace(tag, 0);
  if (fresh) place->second = trace_.intern(phase_.empty() ? std::string(tag) : phase_ + "/" + tag);
  return place->second;
}

void runtime::record(trace_action action, buffer_state& state, std::size_t offset, std::size_t bytes,
                     std::string_view op, std::uint64_t stream) {
  if (!tracing_ || recipe_depth_ != 0) return;
  const bool begins = action == trace_action::allocate || action == trace_action::exists;
  trace_event event;
  event.step = stats_.steps - trace_start_step_;
  event.op = begins ? trace_.intern(recovery_of(state)) : number_of_op(op);
  event.action = action;
  event.object = state.id;
  event.cls = state.cls;
  event.bytes = bytes;
  event.offset = offset;
  event.stream = static_cast<std::uint32_t>(stream);
  event.time_ns = options_.ghost ? event.step * ghost_step_ns : now_ns() - trace_start_ns_;
  if (action == trace_action::exists) {
    event.tag = trace_.intern(state.tag + identity_suffix(state));
  } else {
    event.tag = number_of_tag(state.tag);
  }
  if (begins) {
    state.recording = recording_;
    state.trace_row = trace_.events.size();
  }
  trace_.events.push_back(event);
}

stats runtime::statistics() const {
  const std::lock_guard lock(mutex_);
  stats result = stats_;
  if (pager_) {
    result.cached_bytes = pager_->held().free_bytes();
    result.fast_bytes = pager_->held().held_bytes();
    result.peak_fast_bytes = pager_->peak_bytes();
    result.moved.stall_ns += pager_->slow().statistics().device_stall_ns;
    result.moved.regenerate_ns = pager_->recipes().total_ns();
  } else if (accelerator_) {
    const managed_blocks& unified = *accelerator_->managed;
    const std::size_t pool = device_->cached_bytes() + device_->slack_bytes();
    result.cached_bytes = device_->cached_bytes() + unified.spare_bytes();
    result.fast_bytes = pool_bytes_ + pool + unified.resident_bytes();
    result.peak_fast_bytes = accelerator_->peak_bytes;
  } else {
    result.cached_bytes = device_->cached_bytes();
    const std::size_t kept = device_->cached_bytes() + device_->slack_bytes();
    result.fast_bytes = options_.ghost ? 0 : stats_.live_bytes + kept;
    result.peak_fast_bytes = options_.ghost ? 0 : stats_.peak_bytes;
  }
  return result;
}

store_stats runtime::slow_statistics() const {
  const std::lock_guard lock(mutex_);
  if (!pager_) return {};
  pager_->end_orphans();
  return pager_->slow().statistics();
}

void runtime::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
  stats_.peak_by_class = stats_.live_by_class;
  if (pager_) {
    pager_->reset_peak();
  } else if (accelerator_) {
    accelerator_->peak_bytes = 0;
    accelerator_->note_peak(pool_bytes_);
  }
}

void runtime::trim() {
  const std::lock_guard lock(mutex_);
  if (pager_) {
    pager_->trim();
  } else {
    if (accelerator_) accelerator_->managed->trim();
    device_->trim();
  }
}

void runtime::throw_out_of_memory(const buffer_state& wanted, const budget_wait& patience) const {
  const std::size_t budget = budget_->capacity();
  const std::string limit = budget == 0 ? "no budget set" : "budget " + format_bytes(budget);
  const competition others(*budget_);
  const std::size_t needed = (policy_->traits().moves() ? pool_bytes_ : stats_.live_bytes) +
                             (pager_ ? wanted.full_bytes() : wanted.bytes) + others.bytes();
  throw out_of_memory(text(
      "policy '", policy_->name(), "': cannot place ", format_bytes(wanted.bytes), " for ", wanted.tag, " (",
      to_string(wanted.cls), "); ", format_bytes(stats_.live_bytes), " live, ", limit, others.description(),
      patience.outcome(), largest_objects(live_), ". A budget of at least ", format_bytes(needed), " (",
      needed, " bytes) is needed to get past this point, perhaps more after it", others.advice()));
}

void runtime::throw_refused_by_system(std::size_t bytes, std::string_view what) const {
  const std::string giver = options_.device ? "the device" : "the operating system";
  rlimit space{};
  const bool is_limited =
      !options_.device && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  const std::string limit = is_limited ? text("; the address space of the process is limited to ",
                                              format_bytes(space.rlim_cur), " (RLIMIT_AS)")
                                       : std::string();
  throw out_of_memory(
      text(giver, " gives no more memory: it refused ", format_bytes(bytes), " for ", what, limit, "; ",
           format_bytes(stats_.live_bytes),
           " are live here. The budget is not the reason: ", is_limited ? "raise that limit, " : "",
           "free objects or other programs' memory, or set "
           "a smaller budget with a policy that moves bytes ('planned', 'lru')"));
}

void runtime::throw_step_out_of_memory(std::span<const step_use> uses, std::string_view op) const {
  std::size_t operands = 0;
  for (const step_use& use : uses) operands += use.state->full_bytes();
  if (pager_ && pager_->held().is_refused_by_place()) {
    throw_refused_by_system(operands, text("the operands of step '", op, "'"));
  }
  std::size_t scratch = 0;
  for (const buffer_state* each : live_) {
    const bool used =
        std::any_of(uses.begin(), uses.end(), [&](const step_use& use) { return use.state == each; });
    if (!used && each->where == placement::pool) scratch += pager_ ? each->frame_bytes : each->bytes;
  }
  const competition others(*budget_);
  const std::size_t needed = operands + scratch + others.bytes();
  const std::size_t budget = budget_->capacity();
  const std::string limit = budget == 0 ? std::string("no budget is set; the device gave no more")
                                        : "the budget is " + format_bytes(budget) + others.description();
  throw out_of_memory(
      text("policy '", policy_->name(), "': step '", op, "' needs ", format_bytes(operands + scratch),
           " of the fast tier at once (", format_bytes(operands), " of operands, ", format_bytes(scratch),
           " of scratch); ", limit, ". A budget of at least ", format_bytes(needed), " (", needed,
           " bytes) is needed to get past this point, perhaps more after it", others.advice()));
}

}  // namespace halocline::memory
