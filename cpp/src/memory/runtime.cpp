// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/runtime.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "halocline/core/clock.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/policy/size_history.hpp"
#include "halocline/memory/tier.hpp"
#include "halocline/memory/tier/caching_tier.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/frame_tier.hpp"
#include "memory/buffer_state.hpp"
#include "memory/device/device_side.hpp"
#include "memory/pager/cost_meter.hpp"
#include "memory/pager/pager.hpp"
#include "memory/pager/plan_executor.hpp"
#include "memory/pinned_step.hpp"

namespace halocline::memory {
namespace {

std::unique_ptr<tier> make_device(const runtime_options& options, const policy_traits& traits) {
  if (options.ghost) return make_ghost_tier();
  if (options.device) {
    std::unique_ptr<tier> pool = options.device->make_pool_tier();
    if (traits.reuse == block_reuse::smallest_fit) return std::make_unique<caching_tier>(std::move(pool));
    return pool;
  }
  if (traits.reuse == block_reuse::smallest_fit) {
    return std::make_unique<caching_tier>(make_host_tier(0));
  }
  const bool limited = options.budget_bytes != 0;
  return make_host_tier(limited ? std::min(options.cache_bytes, options.budget_bytes) : options.cache_bytes);
}

/// Whether a step only builds tables: when that happens differs between runs of the same program.
bool builds_tables(std::span<const step_use> uses) {
  bool writes = false;
  for (const step_use& use : uses) {
    if (use.writes && use.state->cls != object_class::table) return false;
    writes = writes || use.writes;
  }
  return writes;
}

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

/// Ranges of the same buffer that overlap or touch become one, at the place of the first. A batch names
/// tables and neighbouring limbs again for every job.
std::vector<operand> coalesce(std::span<const operand> list) {
  std::vector<operand> result;
  result.reserve(list.size());
  for (const operand& each : list) {
    const auto meets = [&](const operand& other) {
      return other.data == each.data && each.offset <= other.offset + other.bytes &&
             other.offset <= each.offset + each.bytes;
    };
    const auto found = std::find_if(result.begin(), result.end(), meets);
    if (found == result.end()) {
      result.push_back(each);
      continue;
    }
    const std::size_t end = std::max(found->offset + found->bytes, each.offset + each.bytes);
    found->offset = std::min(found->offset, each.offset);
    found->bytes = end - found->offset;
  }
  return result;
}

}  // namespace

access::access() noexcept = default;
access::access(access&&) noexcept = default;

access::~access() {
  if (pinned_) pinned_->owner.unpin(*pinned_);
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
      looks_back_(policy_->traits().looks_back),
      budget_(options.shared_budget != nullptr ? options.shared_budget->open_account(options.owner)
                                               : std::make_shared<memory_budget>(options.budget_bytes)) {
  options_.budget_bytes = budget_->capacity();
  HALOCLINE_EXPECTS(!options_.blocking_copies || policy_->traits().order == eviction::least_recent_use,
                    invalid_argument, "blocking copies: the policy is '", policy_->name(),
                    "'; only 'lru' copies when a step needs it");
  const bool moves = policy_->traits().moves() && !options_.ghost;
  if (moves) mutex_.stay_here("its bytes move to a slow tier that belongs to the parent");
  if (options_.device && !options_.ghost) mutex_.stay_here("a GPU and its driver do not survive a fork");
  const bool unified =
      moves && options_.device && policy_->traits().order == eviction::least_recent_migration;
  if (moves && !unified) {
    make_pager();
  } else {
    device_ = make_device(options_, policy_->traits());
  }
  if (unified) {
    accelerator_ = std::make_unique<device_side>(options_.device);
    accelerator_->managed = std::make_unique<managed_blocks>(options_, budget_, stats_.moved, mutex_.plain());
  }
  if (options.record_trace) start_trace();
}

runtime::~runtime() {
  if (!mutex_.is_foreign()) return;
  // Destructors would wait for threads that this process does not have, or free what the parent uses. The
  // pages are shared with the parent, so keeping them costs next to nothing.
  static_cast<void>(executor_.release());
  static_cast<void>(pager_.release());
  static_cast<void>(accelerator_.release());
  static_cast<void>(device_.release());
  static_cast<void>(new runtime_options(std::move(options_)));
}

void runtime::make_pager() {
  if (options_.slow == nullptr) {
    file_store_options file;
    file.folder = options_.tier_folder;
    file.capacity_bytes = options_.tier_limit_bytes;
    options_.slow = make_file_store(file);
  }
  meter_ = std::make_unique<cost_meter>();
  if (options_.device) {
    accelerator_ = std::make_unique<device_side>(options_.device);
    options_.slow = make_device_slow(options_, options_.slow);
    pager_ = std::make_unique<pager>(options_.device, budget_, options_.slow, policy_->traits().order,
                                     stats_.moved, mutex_.plain());
    if (options_.blocking_copies) pager_->block_evictions();
    return;
  }
  pager_ = std::make_unique<pager>(make_frame_tier(), budget_, options_.slow, policy_->traits().order,
                                   stats_.moved, mutex_.plain());
}

// Allocation

std::size_t runtime::budget_left_to_us() const noexcept {
  const std::size_t capacity = budget_->capacity();
  if (capacity == 0) return 0;
  // Others that move bytes hand them back when a pager asks, so it may count on all of the budget.
  if (pager_) return capacity;
  const std::size_t others = budget_->used() - std::min(budget_->used(), stats_.live_bytes);
  return std::max<std::size_t>(1, capacity - std::min(capacity, others));  // 0 would mean unlimited
}

decision runtime::decide(std::size_t bytes, object_class cls, const char* tag, bool wipe) {
  size_history* const history = looks_back_ ? &histories_[bytes] : nullptr;
  const policy_state state{options_.ghost ? 0 : budget_left_to_us(), pool_bytes_, stats_, history};
  decision result = policy_->decide(state, {bytes, cls, tag, stats_.allocations});
  if (wipe && result.where != placement::refuse) result = {placement::pool};
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
  decision chosen = decide(bytes, cls, tag, wipe);
  for (; chosen.where == placement::refuse; chosen = decide(bytes, cls, tag, wipe)) {
    if (!wait_for_others(held, patience, bytes)) throw_out_of_memory(*state, patience);
  }
  state->where = chosen.where;
  state->hint = chosen.hint;
  place(*state, held, patience);
  live_.reserve(live_.size() + 1);
  state->live_index = live_.size();
  state->owner = shared_from_this();
  state->id = next_id_++;
  live_.push_back(state.get());
  count(*state);
  if (executor_ && executor_->is_here() && recipe_depth_ == 0 && !executor_->allocated(*state)) {
    give_up_plan(
        text("the program allocates ", bytes, " bytes for ", tag, " where the plan has another object"));
  }
  record(trace_action::allocate, *state, 0, bytes, "-", 0);
  return buffer(std::move(state));
}

/// Lets others that share the budget work for a moment. False: that does not help, or took long enough.
bool runtime::wait_for_others(lock& held, budget_wait& patience, std::size_t bytes) {
  // In the middle of a step others could see half of it: only its begin waits.
  const std::size_t capacity = budget_->capacity();
  if (recipe_depth_ != 0 || (capacity != 0 && bytes > capacity)) return false;
  if (cancelled_.exchange(false)) throw cancelled("cancelled while waiting for memory of a shared budget");
  held.unlock();  // buffers of this runtime may be freed meanwhile, and its frames be taken
  const bool goes_on = patience.next(pager_.get(), bytes);
  held.lock();
  return goes_on;
}

void runtime::place(buffer_state& state, lock& held, budget_wait& patience) {
  if (options_.ghost) return;
  if (pager_) {
    const std::size_t capacity = budget_->capacity();
    if (capacity != 0 && state.full_bytes() > capacity) throw_out_of_memory(state, patience);
    return;  // the frame comes with the first touch
  }
  if (state.where == placement::managed) return accelerator_->managed->allocate(state);
  if (accelerator_) accelerator_->managed->make_room(state.bytes);
  while (!budget_->take(state.bytes)) {
    if (!wait_for_others(held, patience, state.bytes)) throw_out_of_memory(state, patience);
  }
  state.data = static_cast<std::byte*>(device_->allocate(state.bytes));
  const bool is_refused = state.data == nullptr;
  // Cached blocks, and what blocks have beyond what was asked for, are bytes of the tier too. Asking for them
  // takes calls of a driver, so not without a budget.
  const bool limited = budget_->capacity() != 0;
  if (state.data != nullptr && limited &&
      budget_->available() < device_->cached_bytes() + device_->slack_bytes()) {
    device_->trim();
    // What is left then are ends of the pieces in which a driver hands out memory (32 MiB): nobody's to give.
    if (budget_->available() < device_->slack_bytes()) {
      device_->free(std::exchange(state.data, nullptr), state.bytes);
      device_->trim();
    }
  }
  if (state.data != nullptr) return;
  budget_->give(state.bytes);
  if (is_refused) throw_refused_by_system(state.bytes, text(state.tag, " (", to_string(state.cls), ")"));
  throw_out_of_memory(state, patience);
}

void runtime::count(const buffer_state& state) noexcept {
  stats_.live_bytes += state.bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  auto& class_bytes = stats_.live_by_class[static_cast<std::size_t>(state.cls)];
  class_bytes += state.bytes;
  auto& class_peak = stats_.peak_by_class[static_cast<std::size_t>(state.cls)];
  class_peak = std::max(class_peak, class_bytes);
  if (state.where == placement::pool) pool_bytes_ += state.bytes;
  if (accelerator_ && accelerator_->managed) accelerator_->note_peak(pool_bytes_);
  ++stats_.allocations;
  ++stats_.live_buffers;
}

/// In a process that must leave the runtime alone: wipes this process's copy of a secret, no more.
void runtime::forsake(buffer_state& state) const noexcept {
  if (!state.wipe || options_.device || options_.ghost || mutex_.is_lost()) return;
  if (state.data != nullptr) sodium_memzero(state.data, pager_ ? state.frame_bytes : state.bytes);
}

void runtime::free(buffer_state& state) noexcept {
  if (mutex_.is_foreign()) return forsake(state);
  const std::lock_guard lock(mutex_);
  if (executor_) executor_->freed(state);
  live_[state.live_index] = live_.back();
  live_[state.live_index]->live_index = state.live_index;
  live_.pop_back();
  stats_.live_bytes -= state.bytes;
  stats_.live_by_class[static_cast<std::size_t>(state.cls)] -= state.bytes;
  if (state.where == placement::pool) pool_bytes_ -= state.bytes;
  if (looks_back_) on_free(histories_[state.bytes]);
  ++stats_.frees;
  --stats_.live_buffers;
  if (pager_) {
    pager_->forget(state);
  } else if (accelerator_ && state.where == placement::managed) {
    accelerator_->managed->free(state);
  } else if (!options_.ghost) {
    if (state.wipe) {
      if (options_.device) {
        options_.device->wipe(state.data, state.bytes);
      } else {
        sodium_memzero(state.data, state.bytes);
      }
    }
    device_->free(state.data, state.bytes);
    budget_->give(state.bytes);
  }
  try {
    record(trace_action::free, state, 0, state.bytes, "-", 0);
  } catch (...) {
    tracing_ = false;  // a trace with a hole would mislead: recording ends here
  }
}

// Steps

std::vector<step_use> runtime::check_operands(std::span<const operand> reads, std::span<const operand> writes,
                                              std::string_view op) const {
  std::vector<step_use> uses;
  uses.reserve(reads.size() + writes.size());
  const auto visit = [&](const operand& each, bool writing) {
    HALOCLINE_EXPECTS(each.data != nullptr && *each.data, invalid_argument, op,
                      ": an operand is an empty buffer");
    buffer_state& state = *each.data->state_;
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

access runtime::acquire(std::span<const operand> reads, std::span<const operand> writes, std::string_view op,
                        stream_view stream) {
  lock held(mutex_);
  const std::vector<step_use> uses = check_operands(reads, writes, op);
  if (recipe_depth_ != 0) return make_resident(uses, op, 0);
  if (cancelled_.exchange(false)) throw cancelled(text(op, ": cancelled; objects made before are unharmed"));
  std::size_t touched = 0;
  // An accelerator's operations are measured a few times only.
  if (tracing_ || (pager_ && (!accelerator_ || accelerator_->steps.wants(*meter_, meter_->number_of(op))))) {
    const std::vector<operand> in = coalesce(reads);
    const std::vector<operand> out = coalesce(writes);
    if (tracing_) record_step(in, out, op, stream.id());
    for (const operand& each : in) touched += each.bytes;
    for (const operand& each : out) touched += each.bytes;
  }
  std::size_t step_bytes = 0;
  for (const step_use& use : uses) step_bytes += use.state->bytes;
  stats_.largest_step_bytes = std::max(stats_.largest_step_bytes, step_bytes);
  ++stats_.steps;
  bool is_planned = executor_ && executor_->is_here() && !builds_tables(uses);
  for (budget_wait patience(*budget_);;) {
    try {
      const nested_steps inside(recipe_depth_);  // what is regenerated runs steps of its own
      if (std::exchange(is_planned, false)) follow_plan(uses, op);
      return make_resident(uses, op, touched);
    } catch (const out_of_memory& refusal) {
      if (!wait_for_others(held, patience, step_bytes))
        throw out_of_memory(refusal.what() + patience.outcome());
    }
  }
}

access runtime::make_resident(std::span<const step_use> uses, std::string_view op, std::size_t touched) {
  access result;
  if (!pager_) {
    if (accelerator_ && !accelerator_->bring(uses)) throw_step_out_of_memory(uses, op);
    if (accelerator_) accelerator_->note_peak(pool_bytes_);
    return result;
  }
  result.pinned_ =
      std::make_unique<pinned_step>(pinned_step{*this, {}, meter_->number_of(op), touched, 0, 0});
  result.pinned_->states.reserve(uses.size());
  for (const step_use& use : uses) {
    result.pinned_->states.push_back(use.state);
    ++use.state->pins;
  }
  // Without a plan it is unknown which prefix the next use needs.
  const bool whole = executor_ == nullptr || !executor_->is_here();
  for (const step_use& use : uses) {
    try {
      pager_->touch(use, whole);
    } catch (const out_of_memory&) {
      throw_step_out_of_memory(uses, op);
    }
  }
  for (const step_use& use : uses) ++use.state->held;
  pager_->begin_access();
  result.pinned_->begin_ns = now_ns();
  if (accelerator_ && touched != 0) {
    result.pinned_->begin_stamp = accelerator_->steps.begin(*meter_, result.pinned_->op);
  }
  return result;
}

void runtime::unpin(pinned_step& step) noexcept {
  if (mutex_.is_foreign()) return;
  const std::lock_guard lock(mutex_);
  for (buffer_state* each : step.states) --each->pins;
  if (step.begin_ns == 0) return;
  for (buffer_state* each : step.states) --each->held;
  pager_->end_access();
  if (step.touched_bytes == 0) return;
  if (accelerator_) return accelerator_->steps.end(*meter_, step.op, step.touched_bytes, step.begin_stamp);
  meter_->add(step.op, static_cast<double>(step.touched_bytes),
              static_cast<double>(now_ns() - step.begin_ns));
}

// Names and recipes

void runtime::set_identity(const buffer& data, std::uint64_t identity) {
  HALOCLINE_EXPECTS(data && data.owner() == this && identity != 0, invalid_argument,
                    "set_identity: expected a buffer of this runtime and a number other than 0");
  const std::lock_guard lock(mutex_);
  data.state_->identity = identity;
}

void runtime::set_recipe(const buffer& data, std::shared_ptr<const recipe> how) {
  HALOCLINE_EXPECTS(data && data.owner() == this && is_recoverable(data.cls()), invalid_argument,
                    "set_recipe: expected a key, plaintext or table of this runtime");
  const std::lock_guard lock(mutex_);
  buffer_state& state = *data.state_;
  state.source = std::move(how);
  // Whoever allocates says how only afterwards: the row of the allocation learns it now.
  if (tracing_ && state.recording == recording_ && state.source) {
    trace_.events[state.trace_row].op = trace_.intern(to_string(state.source->kind()));
  }
}

}  // namespace halocline::memory
