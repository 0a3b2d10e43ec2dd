// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/runtime.hpp"

#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/policy/size_history.hpp"
#include "memory/buffer_state.hpp"
#include "memory/plan/loose_part.hpp"
#include "memory/refusals.hpp"
#include "memory/residency/plan_follower.hpp"
#include "memory/residency/residency.hpp"
#include "memory/step_use.hpp"
#include "memory/trace_recorder.hpp"

namespace halocline::memory {
namespace {

/// Steps that run while it lives belong to another one.
class nested_steps {
 public:
  explicit nested_steps(unsigned& depth) : depth_(depth) { ++depth_; }
  ~nested_steps() { --depth_; }
  nested_steps(const nested_steps&) = delete;
  nested_steps& operator=(const nested_steps&) = delete;

 private:
  unsigned& depth_;
};

/// Makes room for one more element, so that adding it cannot fail.
void prepare_one_more(std::vector<buffer_state*>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(64, 2 * list.capacity()));
}

}  // namespace

access::access(runtime& owner) noexcept : owner_(&owner) {}
access::access(access&&) noexcept = default;

access::~access() {
  if (pinned_) owner_->unpin(*pinned_);
}

std::byte* access::pointer(const buffer& data, std::size_t offset) const noexcept {
  return data.state_->data == nullptr ? nullptr : data.state_->data + offset;
}

std::shared_ptr<runtime> runtime::create(const runtime_options& options) {
  return std::shared_ptr<runtime>(new runtime(options));
}

runtime::runtime(const runtime_options& options)
    : options_(options),
      policy_(make_policy(options.policy, options.constants)),
      budget_(options.shared_budget != nullptr ? options.shared_budget->open_account(options.owner)
                                               : std::make_shared<memory_budget>(options.budget_bytes)),
      recorder_(std::make_unique<trace_recorder>(options.ghost)) {
  options_.budget_bytes = budget_->capacity();
  const policy_traits traits = policy_.traits();
  HALOCLINE_EXPECTS(!options_.blocking_copies || traits.order == eviction::least_recent_use, invalid_argument,
                    "blocking copies: the policy is '", policy_.name(),
                    "'; only 'lru' copies when a step needs it");
  residency_ = make_residency({options_, traits, budget_, live_, stats_.moved, mutex_.plain()});
  plans_ = residency_->plans();
  if (const char* const why = residency_->why_it_stays()) mutex_.stay_here(why);
  if (options.record_trace) start_trace();
}

runtime::~runtime() {
  if (!mutex_.is_foreign()) return;
  // Destructors would wait for threads that this process does not have, or free what the parent uses. The
  // pages are shared with the parent, so keeping them costs next to nothing.
  static_cast<void>(residency_.release());
  static_cast<void>(new runtime_options(std::move(options_)));
}

// Allocation

decision runtime::decide(const buffer_state& wanted) {
  size_history* const history = policy_.traits().looks_back ? &histories_[wanted.bytes] : nullptr;
  const policy_state state{residency_->budget_left(stats_.live_bytes), pool_bytes_, stats_, history};
  decision result = policy_.decide(state, {wanted.bytes, wanted.cls, wanted.tag, stats_.allocations});
  if (wanted.wipe && result.where != placement::refuse) result = {placement::pool};
  if (history != nullptr && result.where != placement::refuse) {
    on_allocate(*history, options_.constants.history_length);
  }
  return result;
}

buffer runtime::allocate(std::size_t bytes, object_class cls, const char* tag, bool wipe) {
  HALOCLINE_EXPECTS(bytes > 0, invalid_argument, "cannot allocate 0 bytes for '", tag, "'");
  auto state = std::make_unique<buffer_state>();
  state->bytes = bytes;
  state->cls = cls;
  state->tag = tag;
  state->wipe = wipe;
  lock held(mutex_);
  budget_wait patience(*budget_);
  decision chosen = decide(*state);
  for (; chosen.where == placement::refuse; chosen = decide(*state)) {
    if (!wait_for_others(held, patience, bytes)) refuse(*state, patience);
  }
  state->where = chosen.where;
  state->hint = chosen.hint;
  place(*state, held, patience);
  prepare_one_more(live_);
  state->live_index = live_.size();
  state->owner = shared_from_this();
  state->id = next_id_++;
  live_.push_back(state.get());
  count(*state);
  if (recipe_depth_ == 0) {
    if (plans_ != nullptr) plans_->allocated(*state);
    recorder_->allocated(*state, stats_.steps);
  }
  return buffer(std::move(state));
}

/// Waits a moment for others that share the budget. False: waiting does not help, or the time is over.
bool runtime::wait_for_others(lock& held, budget_wait& patience, std::size_t bytes) {
  // In the middle of a step others could see half of it: only its begin waits.
  const std::size_t capacity = budget_->capacity();
  if (recipe_depth_ != 0 || (capacity != 0 && bytes > capacity)) return false;
  if (cancelled_.exchange(false)) throw cancelled("cancelled while waiting for memory of a shared budget");
  held.unlock();  // buffers of this runtime may be freed meanwhile, and its frames be taken
  const bool goes_on = patience.next(residency_->member(), bytes);
  held.lock();
  return goes_on;
}

void runtime::place(buffer_state& state, lock& held, budget_wait& patience) {
  for (;;) {
    switch (residency_->place(state)) {
      case placing::done:
        return;
      case placing::no_room:
        if (!wait_for_others(held, patience, state.bytes)) refuse(state, patience);
        break;
      case placing::over_budget:
        refuse(state, patience);
      case placing::refused_by_system:
        throw out_of_memory(
            refusal().by_system(state.bytes, text(state.tag, " (", to_string(state.cls), ")")));
    }
  }
}

void runtime::count(const buffer_state& state) noexcept {
  stats_.live_bytes += state.bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  auto& class_bytes = stats_.live_by_class[static_cast<std::size_t>(state.cls)];
  class_bytes += state.bytes;
  auto& class_peak = stats_.peak_by_class[static_cast<std::size_t>(state.cls)];
  class_peak = std::max(class_peak, class_bytes);
  if (state.where == placement::pool) pool_bytes_ += state.bytes;
  ++stats_.allocations;
  ++stats_.live_buffers;
}

void runtime::uncount(const buffer_state& state) noexcept {
  stats_.live_bytes -= state.bytes;
  stats_.live_by_class[static_cast<std::size_t>(state.cls)] -= state.bytes;
  if (state.where == placement::pool) pool_bytes_ -= state.bytes;
  if (policy_.traits().looks_back) on_free(histories_[state.bytes]);
  ++stats_.frees;
  --stats_.live_buffers;
}

void runtime::free(buffer_state& state) noexcept {
  if (mutex_.is_foreign()) {
    if (!mutex_.is_lost()) residency_->forsake(state);
    return;
  }
  const std::lock_guard lock(mutex_);
  live_[state.live_index] = live_.back();
  live_[state.live_index]->live_index = state.live_index;
  live_.pop_back();
  uncount(state);
  residency_->free(state);
  if (recipe_depth_ == 0) recorder_->freed(state, stats_.steps);
}

// Steps

std::vector<step_use> runtime::check_operands(std::span<const operand> reads, std::span<const operand> writes,
                                              std::string_view op) const {
  std::vector<step_use> uses;
  uses.reserve(reads.size() + writes.size());
  const auto visit = [&](const operand& each, bool writing) {
    HALOCLINE_EXPECTS(each.data != nullptr && *each.data, invalid_argument, op,
                      ": an operand is an empty buffer");
    buffer_state& state = state_of(*each.data);
    HALOCLINE_EXPECTS(state.owner.get() == this, invalid_argument, op, ": operand '", state.tag,
                      "' belongs to another runtime; move it to this engine first");
    HALOCLINE_EXPECTS(each.offset <= state.bytes && each.bytes <= state.bytes - each.offset, invalid_argument,
                      op, ": bytes [", each.offset, ", ", each.offset + each.bytes, ") are outside '",
                      state.tag, "' of ", state.bytes, " bytes");
    auto use = std::find_if(uses.begin(), uses.end(), [&](const step_use& u) { return u.state == &state; });
    if (use == uses.end()) use = uses.insert(uses.end(), {&state, 0, false, false, false});
    use->extent = std::max(use->extent, each.offset + each.bytes);
    (writing ? use->writes : use->reads) = true;
    use->covers = use->covers || (writing && each.bytes == state.bytes);
  };
  for (const operand& each : reads) visit(each, false);
  for (const operand& each : writes) visit(each, true);
  return uses;
}

/// Ranges of the same buffer that overlap or touch become one, at the place of the first. A batch names
/// tables and neighbouring limbs again for every job.
std::vector<touched_part> runtime::coalesce(std::span<const operand> list) {
  std::vector<touched_part> result;
  result.reserve(list.size());
  for (const operand& each : list) {
    buffer_state* const state = &state_of(*each.data);
    const auto meets = [&](const touched_part& other) {
      return other.state == state && each.offset <= other.offset + other.bytes &&
             other.offset <= each.offset + each.bytes;
    };
    const auto found = std::find_if(result.begin(), result.end(), meets);
    if (found == result.end()) {
      result.push_back({state, each.offset, each.bytes});
      continue;
    }
    const std::size_t end = std::max(found->offset + found->bytes, each.offset + each.bytes);
    found->offset = std::min(found->offset, each.offset);
    found->bytes = end - found->offset;
  }
  return result;
}

/// Records a step where that is wanted; returns the bytes that it touches where its time is, else 0.
std::size_t runtime::note_step(std::span<const operand> reads, std::span<const operand> writes,
                               std::string_view op, std::uint64_t stream) {
  if (!recorder_->is_on() && !residency_->is_timed(op)) return 0;
  const std::vector<touched_part> in = coalesce(reads);
  const std::vector<touched_part> out = coalesce(writes);
  if (recorder_->is_on()) recorder_->begin_step(in, out, op, stream, stats_.steps);
  std::size_t touched = 0;
  for (const touched_part& each : in) touched += each.bytes;
  for (const touched_part& each : out) touched += each.bytes;
  return touched;
}

access runtime::acquire(std::span<const operand> reads, std::span<const operand> writes, std::string_view op,
                        stream_view stream) {
  lock held(mutex_);
  const std::vector<step_use> uses = check_operands(reads, writes, op);
  if (recipe_depth_ != 0) return make_resident(uses, op, 0);
  if (cancelled_.exchange(false)) throw cancelled(text(op, ": cancelled; objects made before are unharmed"));
  const std::size_t touched = note_step(reads, writes, op, stream.id());
  std::size_t step_bytes = 0;
  for (const step_use& use : uses) step_bytes += use.state->bytes;
  stats_.largest_step_bytes = std::max(stats_.largest_step_bytes, step_bytes);
  ++stats_.steps;
  bool is_first = true;
  for (budget_wait patience(*budget_);;) {
    try {
      const nested_steps inside(recipe_depth_);  // what is regenerated runs steps of its own
      if (std::exchange(is_first, false) && plans_ != nullptr) plans_->next_step(uses, op);
      return make_resident(uses, op, touched);
    } catch (const out_of_memory& refusal) {
      if (!wait_for_others(held, patience, step_bytes))
        throw out_of_memory(refusal.what() + patience.outcome());
    }
  }
}

access runtime::make_resident(std::span<const step_use> uses, std::string_view op, std::size_t touched) {
  access result(*this);
  const placing ended = residency_->bring(uses, op, touched, result.pinned_);
  if (ended != placing::done) refuse_step(uses, op, ended == placing::refused_by_system);
  return result;
}

void runtime::unpin(pinned_step& step) noexcept {
  if (mutex_.is_foreign()) return;
  const std::lock_guard lock(mutex_);
  residency_->unpin(step);
}

// Names and recipes

void runtime::set_identity(const buffer& data, std::uint64_t identity) {
  HALOCLINE_EXPECTS(data && data.owner() == this, invalid_argument,
                    "set_identity: expected a buffer of this runtime");
  const std::lock_guard lock(mutex_);
  state_of(data).identity = identity;
}

void runtime::set_recipe(const buffer& data, std::shared_ptr<const recipe> how) {
  HALOCLINE_EXPECTS(data && data.owner() == this && is_recoverable(data.cls()), invalid_argument,
                    "set_recipe: expected a key, plaintext or table of this runtime");
  const std::lock_guard lock(mutex_);
  state_of(data).source = std::move(how);
  recorder_->learn_recovery(state_of(data));  // a recipe is known only after the row of the allocation
}

bool runtime::reads_remote() const noexcept { return residency_->reads_remote(); }

void runtime::set_remote(const buffer& data, std::shared_ptr<const remote_contents> contents) {
  HALOCLINE_EXPECTS(data && data.owner() == this && is_recoverable(data.cls()) && contents &&
                        contents->bytes() == data.size(),
                    invalid_argument, "set_remote: expected a key, plaintext or table of this runtime, and ",
                    "contents of its size, got ", contents ? contents->bytes() : 0, " bytes for ",
                    data.size());
  const std::lock_guard lock(mutex_);
  buffer_state& state = state_of(data);
  HALOCLINE_EXPECTS(reads_remote() && !state.has_contents && state.slot == no_slot, invalid_argument,
                    "set_remote: the policy is '", policy_.name(),
                    "' or the buffer has contents; expected "
                    "policy 'lru' or 'planned' and a buffer into which nothing was written");
  residency_->set_remote(state, std::move(contents));
}

void runtime::leave_to_recipe(const buffer& data) {
  HALOCLINE_EXPECTS(data && data.owner() == this, invalid_argument,
                    "leave_to_recipe: expected a buffer of this runtime");
  const std::lock_guard lock(mutex_);
  buffer_state& state = state_of(data);
  HALOCLINE_EXPECTS(
      reads_remote() && state.source && state.source->kind() != recovery::copy && !state.has_contents,
      invalid_argument, "leave_to_recipe: the policy is '", policy_.name(),
      "', the buffer has contents, or no recipe that plans may prefer; expected policy 'lru' "
      "or 'planned', and a buffer with a recipe into which nothing was written");
  residency_->leave_to_recipe(state);
}

fetched runtime::fetch(const buffer& data) {
  HALOCLINE_EXPECTS(data && data.owner() == this && is_recoverable(data.cls()), invalid_argument,
                    "fetch: expected a key, plaintext or table of this runtime");
  const std::lock_guard lock(mutex_);
  return residency_->fetch(state_of(data));
}

void runtime::set_spare(const buffer& data, bool spare) {
  HALOCLINE_EXPECTS(data && data.owner() == this && is_recoverable(data.cls()), invalid_argument,
                    "set_spare: expected a key, plaintext or table of this runtime");
  const std::lock_guard lock(mutex_);
  residency_->set_spare(state_of(data), spare);
}

void runtime::leave_fast(const buffer& data, bool copies) {
  HALOCLINE_EXPECTS(data && data.owner() == this && is_recoverable(data.cls()), invalid_argument,
                    "leave_fast: expected a key, plaintext or table of this runtime");
  const std::lock_guard lock(mutex_);
  residency_->leave_fast(state_of(data), copies);
}

// Plans and budgets

void runtime::begin_plan(std::shared_ptr<const plan::plan> source) {
  HALOCLINE_EXPECTS(source != nullptr, invalid_argument, "begin_plan: no plan");
  const std::lock_guard lock(mutex_);
  HALOCLINE_EXPECTS(plans_ != nullptr, invalid_argument, "begin_plan: the policy is '", policy_.name(),
                    "'; plans are followed under 'planned'");
  HALOCLINE_EXPECTS(!plans_->is_following(), invalid_argument,
                    "begin_plan: a plan is active already; end it first");
  const std::size_t budget = budget_->capacity();
  HALOCLINE_EXPECTS(budget == 0 || source->capacity_bytes <= budget, memory::plan::exceeds_budget,
                    "begin_plan: the plan was made for ", format_bytes(source->capacity_bytes),
                    ", the budget is ", format_bytes(budget), "; plan again for this budget");
  plans_->begin(std::move(source));
}

plan_outcome runtime::end_plan() {
  const std::lock_guard lock(mutex_);
  return plans_ == nullptr ? plan_outcome{} : plans_->end();
}

plan::cost_model runtime::measured_costs() {
  const std::lock_guard lock(mutex_);
  return residency_->measured_costs(default_costs(options_));
}

plan::planner_options runtime::planning(std::uint64_t capacity_bytes) {
  const std::lock_guard lock(mutex_);
  plan::planner_options result;
  result.capacity_bytes = capacity_bytes;
  result.costs = residency_->measured_costs(default_costs(options_));
  result.loose_bytes = capacity_bytes / loose_part;
  result.allow_resize = residency_->resizes();
  for (const buffer_state* each : live_) {
    if (each->identity != 0 && each->resident()) result.resident[each->identity] = each->frame_bytes;
  }
  residency_->describe_chain(result);
  return result;
}

void runtime::forget_costs() {
  const std::lock_guard lock(mutex_);
  residency_->forget_costs();
}

void runtime::set_budget(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  residency_->set_budget(bytes);
  HALOCLINE_EXPECTS(budget_->set_capacity(bytes), out_of_memory,
                    "set_budget: ", format_bytes(budget_->used()), " are in use, more than ",
                    format_bytes(bytes), "; the budget stays ", format_bytes(budget_->capacity()));
  options_.budget_bytes = bytes;
}

void runtime::trim() {
  const std::lock_guard lock(mutex_);
  residency_->trim();
}

// Statistics and traces

stats runtime::statistics() const {
  const std::lock_guard lock(mutex_);
  stats result = stats_;
  residency_->report(result);
  return result;
}

store_stats runtime::slow_statistics() const {
  const std::lock_guard lock(mutex_);
  return residency_->slow_statistics();
}

std::vector<link_stats> runtime::link_statistics() const {
  const std::lock_guard lock(mutex_);
  return residency_->link_statistics();
}

void runtime::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
  stats_.peak_by_class = stats_.live_by_class;
  residency_->reset_peak();
}

bool runtime::moves() const noexcept { return residency_->moves(); }

void runtime::start_trace() {
  const std::lock_guard lock(mutex_);
  recorder_->start(stats_.steps);
}

trace runtime::stop_trace() {
  const std::lock_guard lock(mutex_);
  return recorder_->stop();
}

void runtime::set_phase(std::string phase) {
  const std::lock_guard lock(mutex_);
  recorder_->set_phase(std::move(phase));
}

// Refusals

refusals runtime::refusal() const noexcept { return {options_, *budget_, stats_, live_}; }

void runtime::refuse(const buffer_state& wanted, const budget_wait& patience) const {
  const std::size_t present = policy_.traits().moves() ? pool_bytes_ : stats_.live_bytes;
  // A pager gives whole pages.
  const std::size_t counted = present + (residency_->moves() ? wanted.full_bytes() : wanted.bytes);
  throw out_of_memory(refusal().of_allocation(wanted, counted, patience.outcome()));
}

void runtime::refuse_step(std::span<const step_use> uses, std::string_view op, bool by_system) const {
  std::size_t operands = 0;
  for (const step_use& use : uses) operands += use.state->full_bytes();
  if (by_system) {
    throw out_of_memory(refusal().by_system(operands, text("the operands of step '", op, "'")));
  }
  std::size_t scratch = 0;
  for (const buffer_state* each : live_) {
    const bool used =
        std::any_of(uses.begin(), uses.end(), [&](const step_use& use) { return use.state == each; });
    if (!used && each->where == placement::pool) scratch += residency_->held_bytes(*each);
  }
  throw out_of_memory(refusal().of_step(op, operands, scratch));
}

}  // namespace halocline::memory
