// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/plan_executor.hpp"

#include <algorithm>

namespace halocline::memory {
namespace {

constexpr plan::object_index no_object = ~plan::object_index{0};

/// The reads of a step belong together.
class read_group {
 public:
  explicit read_group(transport& from) noexcept : from_(from) { from_.begin_reads(); }
  ~read_group() { from_.end_reads(); }
  read_group(const read_group&) = delete;
  read_group& operator=(const read_group&) = delete;

 private:
  transport& from_;
};

bool frees(plan::verb action) noexcept {
  return action == plan::verb::drop || action == plan::verb::write_back || action == plan::verb::shrink;
}

}  // namespace

plan_executor::plan_executor(std::shared_ptr<const plan::plan> source, pager& pages,
                             std::span<buffer_state* const> live)
    : plan_(std::move(source)),
      pager_(pages),
      bound_(plan_->objects.size(), nullptr),
      last_(plan_->objects.size()) {
  for (std::size_t i = 0; i < plan_->directives.size(); ++i) last_[plan_->directives[i].target] = i;
  for (plan::object_index i = 0; i < plan_->objects.size(); ++i) {
    const plan::object& each = plan_->objects[i];
    if (!each.preexisting) {
      allocations_.push_back(i);
    } else if (each.identity != 0) {
      named_[each.identity][{each.cls, each.bytes}].objects.push_back(i);
    } else {
      anonymous_[{each.cls, each.bytes}].push_back(i);
    }
  }
  bind_all(live);
  keep_first_frames();
  pager_.keep_loose(plan_->capacity_bytes / loose_part);
}

/// Objects of one identity have equal contents, such as the same weights in two layers. The order in which
/// they were made distinguishes them, which is that of the plan's program. Where it is not, steps load what
/// they find missing.
void plan_executor::bind_all(std::span<buffer_state* const> live) {
  const auto made_before = [](const auto& a, const auto& b) { return a->id < b->id; };
  bool has_twins = false;
  for (auto& [identity, shapes] : named_) {
    for (auto& [form, each] : shapes) {
      if (each.objects.size() < 2) continue;
      has_twins = true;
      std::sort(each.objects.begin(), each.objects.end(),
                [&](auto a, auto b) { return plan_->objects[a].id < plan_->objects[b].id; });
    }
  }
  if (!has_twins) {
    for (buffer_state* each : live) bind_named(*each);
    return;
  }
  std::vector<buffer_state*> sorted(live.begin(), live.end());
  std::sort(sorted.begin(), sorted.end(), made_before);
  for (buffer_state* each : sorted) bind_named(*each);
}

/// Objects that the plan loads before the first step and that are resident already must not be evicted for
/// those that are not.
void plan_executor::keep_first_frames() {
  std::vector<std::size_t> wanted(bound_.size());
  for (const plan::directive& each : plan_->directives) {
    if (each.before != 0) break;
    if (frees(each.action)) continue;
    wanted[each.target] = std::max(wanted[each.target], std::size_t{each.pages} * plan::page_bytes);
  }
  for (plan::object_index i = 0; i < wanted.size(); ++i) {
    buffer_state* const state = bound_[i];
    if (wanted[i] == 0 || state == nullptr || !state->resident()) continue;
    pager_.shrink(*state, wanted[i]);
    pager_.set_planned(*state, state->resident());
  }
}

void plan_executor::bind(buffer_state& state, plan::object_index index) {
  state.plan_object = index;
  bound_[index] = &state;
}

bool plan_executor::allocated(buffer_state& state) {
  // When tables are built is not part of a program: they are found at their first touch.
  if (state.cls == object_class::table) return true;
  if (next_allocation_ == allocations_.size()) return false;
  const plan::object_index index = allocations_[next_allocation_];
  const plan::object& expected = plan_->objects[index];
  if (expected.bytes != state.bytes || expected.cls != state.cls) return false;
  ++next_allocation_;
  bind(state, index);
  return true;
}

void plan_executor::freed(const buffer_state& state) noexcept {
  if (state.plan_object == no_object) return;
  bound_[state.plan_object] = nullptr;
  const auto found = state.identity == 0 ? named_.end() : named_.find(state.identity);
  if (found == named_.end()) return;
  const auto same = found->second.find({state.cls, state.bytes});
  if (same != found->second.end()) same->second.first_free = 0;
}

/// A plan may list a million objects of one identity, so those that are bound are not looked at each time.
bool plan_executor::bind_named(buffer_state& state) {
  const auto found = state.identity == 0 ? named_.end() : named_.find(state.identity);
  if (found == named_.end()) return false;
  const auto same = found->second.find({state.cls, state.bytes});
  if (same == found->second.end()) return true;
  auto& [objects, first_free] = same->second;
  while (first_free < objects.size() && bound_[objects[first_free]] != nullptr) ++first_free;
  if (first_free < objects.size()) bind(state, objects[first_free]);
  return true;
}

void plan_executor::bind_late(buffer_state& state) {
  // A table that was built after the plan began. One more buffer of contents that the plan has follows no
  // directives, and must not take those of an object without an identity.
  if (bind_named(state)) return;
  const auto found = anonymous_.find({state.cls, state.bytes});
  if (found == anonymous_.end() || found->second.empty()) return;
  bind(state, found->second.front());
  found->second.pop_front();
}

std::uint64_t plan_executor::which(const buffer_state& state) const noexcept {
  if (state.plan_object != no_object) {
    return plan::which_object(plan_->objects[state.plan_object], state.plan_object);
  }
  return state.cls == object_class::table ? 0 : state.identity;
}

bool plan_executor::begin_step(std::uint32_t hash, std::span<const step_use> uses) {
  if (step_ == plan_->steps() || plan_->hashes[step_] != hash) return false;
  for (const step_use& use : uses) {
    if (use.state->plan_object == no_object) bind_late(*use.state);
  }
  make_ready(step_, uses);
  for (const step_use& use : uses) pager_.set_planned(*use.state, true);
  ++step_;
  return true;
}

void plan_executor::make_ready(plan::step_index step, std::span<const step_use> uses) {
  pager_.reap(false);
  free_frames(step);
  const read_group group(pager_.copies());
  // Loads that found no room wait for write-backs under way. The step waits only if it needs their objects:
  // `touch` loads buffers that have no frame after this.
  while (!bring_frames(step)) {
    const bool missing = std::any_of(uses.begin(), uses.end(), [](const step_use& use) {
      return use.state->frame_bytes < use.extent && use.state->has_contents;
    });
    if (!missing || !pager_.reap(true)) return;
  }
}

void plan_executor::free_frames(plan::step_index until) {
  for (; next_free_ < plan_->directives.size(); ++next_free_) {
    const plan::directive& each = plan_->directives[next_free_];
    if (each.before > until) return;
    buffer_state* const state = bound_[each.target];
    if (state == nullptr || !frees(each.action)) continue;
    if (each.action == plan::verb::drop && next_free_ == last_[each.target]) {
      pager_.release(*state);  // until the room is needed: the next run may spare a load
    } else if (each.action == plan::verb::drop) {
      pager_.drop(*state);
    } else if (each.action == plan::verb::shrink) {
      pager_.shrink(*state, std::size_t{each.pages} * plan::page_bytes);
    } else {
      pager_.write_back(*state);
    }
  }
}

bool plan_executor::bring_frames(plan::step_index until) {
  for (; next_bring_ < plan_->directives.size(); ++next_bring_) {
    const plan::directive& each = plan_->directives[next_bring_];
    if (each.before > until) return true;
    if (!frees(each.action) && !carry_out(each)) return false;
  }
  return true;
}

bool plan_executor::carry_out(const plan::directive& each) {
  buffer_state* const state = bound_[each.target];
  if (state == nullptr) return true;
  const std::size_t bytes = std::size_t{each.pages} * plan::page_bytes;
  return each.action == plan::verb::load ? pager_.start_load(*state, bytes)
                                         : pager_.regenerate(*state, bytes);
}

void plan_executor::release(std::span<buffer_state* const> live) noexcept {
  pager_.keep_loose(0);
  for (buffer_state* each : live) {
    each->plan_object = no_object;
    pager_.set_planned(*each, false);
  }
}

}  // namespace halocline::memory
