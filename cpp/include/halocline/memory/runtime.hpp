// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "halocline/core/stream_view.hpp"
#include "halocline/memory/budget.hpp"
#include "halocline/memory/buffer.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/process_mutex.hpp"
#include "halocline/memory/recipe.hpp"
#include "halocline/memory/remote_contents.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/stats.hpp"
#include "halocline/memory/tier/store.hpp"
#include "halocline/memory/trace.hpp"

namespace halocline::memory {

class runtime;
class residency;
class plan_follower;
class trace_recorder;
struct pinned_step;
struct refusals;
struct step_use;
struct touched_part;

/// Part of a buffer that a step touches: bytes [offset, offset + bytes).
struct operand {
  const buffer* data = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Pins the buffers of one step: they keep their frames, and pointers are valid, while the object lives.
/// Move-only.
class access {
 public:
  access(access&&) noexcept;
  access& operator=(access&&) noexcept = delete;
  ~access();

  /// Address of byte `offset` of a buffer that this step acquired; nullptr on the ghost backend.
  [[nodiscard]] std::byte* pointer(const buffer& data, std::size_t offset = 0) const noexcept;

 private:
  friend class runtime;
  explicit access(runtime& owner) noexcept;
  runtime* owner_;
  std::unique_ptr<pinned_step> pinned_;  ///< only where steps pin buffers
};

/// Owns every byte that kernels touch. Buffers must not outlive it (they keep it alive: see `create`).
/// Thread-safe. In forked children only runtimes of host memory that move nothing work: see `process_mutex`.
class runtime : public std::enable_shared_from_this<runtime> {
 public:
  /// @throws invalid_argument for an unknown policy; io_error when the slow tier cannot be made
  [[nodiscard]] static std::shared_ptr<runtime> create(const runtime_options& options);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Allocates `bytes` uninitialised bytes. `tag` must outlive the runtime (a string literal).
  /// `wipe` zeroes the bytes when they are freed (secret material); such buffers never leave the fast tier.
  /// @throws invalid_argument for 0 bytes.
  /// @throws out_of_memory when the policy refuses; the message names the largest live objects and the
  ///   smallest budget that would have done so far.
  [[nodiscard]] buffer allocate(std::size_t bytes, object_class cls, const char* tag, bool wipe = false);

  /// Begins a step: makes all operands resident, pins them while the result lives and records the accesses.
  /// An operand that is both read and written appears in both lists.
  /// @throws invalid_argument for an empty or foreign buffer or a range outside it; out_of_memory when the
  ///   budget cannot hold the step; io_error when the slow tier fails; cancelled after `cancel`; corrupt_data
  ///   for a lost operand, until a step writes all of it. All other buffers have their contents still.
  [[nodiscard]] access acquire(std::span<const operand> reads, std::span<const operand> writes,
                               std::string_view op, stream_view stream = {});

  /// Names a buffer beyond this process: the same object of the same program has the same number in every
  /// run. Plans find buffers by it that were there before the program. 0 takes the name away.
  void set_identity(const buffer& data, std::uint64_t identity);
  /// Sets how a read-only buffer is regenerated instead of copied from the slow tier.
  void set_recipe(const buffer& data, std::shared_ptr<const recipe> how);
  /// Gives a read-only buffer, into which nothing was written yet, contents that are remote: they come when a
  /// step or a plan needs them, only as far as they are needed, and its frame is dropped without a copy.
  /// @throws invalid_argument where `reads_remote` is false, or the sizes differ
  void set_remote(const buffer& data, std::shared_ptr<const remote_contents> contents);
  /// Leaves the contents of a read-only buffer, into which nothing was written yet, to its recipe, which
  /// makes them whenever a step or a plan needs them; its frame is dropped without a copy.
  /// @throws invalid_argument where `reads_remote` is false, or it has no recipe
  void leave_to_recipe(const buffer& data);
  /// Whether buffers can have remote contents: under policies `lru` and `planned`.
  [[nodiscard]] bool reads_remote() const noexcept;

  /// Brings a read-only buffer nearer ahead of its use, without waiting: remote contents to the next tier,
  /// and into the fast tier where only spare frames must leave it and the link has nothing to do, else while
  /// steps run, in the order of these calls. Steps report errors of reads. `done` where nothing moves.
  [[nodiscard]] fetched fetch(const buffer& data);
  /// Says whether nothing uses a read-only buffer until a step does: its frame goes first. Ends its `fetch`.
  void set_spare(const buffer& data, bool spare);
  /// Takes a read-only buffer out of the fast tier, unless a step uses it; what has no other copy is written
  /// to the slow tier. `copies`: those of remote contents on tiers in between go too.
  void leave_fast(const buffer& data, bool copies = false);

  /// Follows a plan from this thread's next step on; other threads' steps are served in between, unplanned.
  /// @throws invalid_argument unless the policy is `planned` and no plan is active; plan::exceeds_budget
  void begin_plan(std::shared_ptr<const plan::plan> source);
  /// Ends the plan. A program that diverged from it was finished under `lru`: see the outcome.
  plan_outcome end_plan();
  /// Times of operations, links and regeneration as measured so far; for `plan::planner_options`.
  /// The first call probes the slow tier (some 30 ms).
  [[nodiscard]] plan::cost_model measured_costs();
  /// Restarts the measurement of operations; on an accelerator, without gaps in the next milliseconds.
  void forget_costs();
  /// For a plan of the next program: measured costs, what frames can do, and what is in the fast tier now.
  [[nodiscard]] plan::planner_options planning(std::uint64_t capacity_bytes);

  /// Changes the budget; frames that no step needs leave until it is met. 0: unlimited.
  /// @throws out_of_memory when what is in use does not fit; the budget stays as it was
  void set_budget(std::size_t bytes);
  [[nodiscard]] std::size_t budget_bytes() const noexcept { return budget_->capacity(); }
  /// Makes the next step, or allocation that waits, throw `cancelled`, once. May be called from any thread.
  void cancel() noexcept { cancelled_ = true; }

  /// The counters at this moment.
  [[nodiscard]] stats statistics() const;
  /// Counters of the slow tier; zeros where nothing moves.
  [[nodiscard]] store_stats slow_statistics() const;
  /// Counters of each link to the fast tier, nearest tier first; empty where nothing moves.
  [[nodiscard]] std::vector<link_stats> link_statistics() const;
  /// Sets the peak counters back to the present live bytes.
  void reset_peak();
  [[nodiscard]] bool is_ghost() const noexcept { return options_.ghost; }
  /// Whether buffers can lose their frames.
  [[nodiscard]] bool moves() const noexcept;
  [[nodiscard]] const runtime_options& options() const noexcept { return options_; }

  /// Starts recording with an empty trace whose clock begins now.
  void start_trace();
  /// Stops recording and returns what was recorded.
  [[nodiscard]] trace stop_trace();
  /// Prefix that the tags of later events of the trace carry ("conv1/key_switch"); empty ends it.
  void set_phase(std::string phase);
  /// Gives cached bytes back to the operating system.
  void trim();
  /// In a forked child, when a thread that the child does not have was using the runtime: marks it unusable.
  void abandon() noexcept { mutex_.abandon(); }

 private:
  friend class buffer;
  friend class access;
  using lock = std::unique_lock<process_mutex>;

  explicit runtime(const runtime_options& options);
  [[nodiscard]] static buffer_state& state_of(const buffer& data) noexcept { return *data.state_; }
  [[nodiscard]] static std::vector<touched_part> coalesce(std::span<const operand> list);
  [[nodiscard]] decision decide(const buffer_state& wanted);
  void place(buffer_state& state, lock& held, budget_wait& patience);
  [[nodiscard]] bool wait_for_others(lock& held, budget_wait& patience, std::size_t bytes);
  void count(const buffer_state& state) noexcept;
  void uncount(const buffer_state& state) noexcept;
  void free(buffer_state& state) noexcept;
  [[nodiscard]] std::vector<step_use> check_operands(std::span<const operand> reads,
                                                     std::span<const operand> writes,
                                                     std::string_view op) const;
  [[nodiscard]] std::size_t note_step(std::span<const operand> reads, std::span<const operand> writes,
                                      std::string_view op, std::uint64_t stream);
  [[nodiscard]] access make_resident(std::span<const step_use> uses, std::string_view op,
                                     std::size_t touched);
  void unpin(pinned_step& step) noexcept;
  [[nodiscard]] refusals refusal() const noexcept;
  [[noreturn]] void refuse(const buffer_state& wanted, const budget_wait& patience) const;
  [[noreturn]] void refuse_step(std::span<const step_use> uses, std::string_view op, bool by_system) const;

  runtime_options options_;
  policy policy_;
  std::shared_ptr<memory_budget> budget_;
  mutable process_mutex mutex_;
  stats stats_;
  std::size_t pool_bytes_ = 0;                               ///< live, with placement `pool`
  std::unordered_map<std::size_t, size_history> histories_;  ///< by bytes; for policies that use the history
  std::vector<buffer_state*> live_;
  std::unique_ptr<residency> residency_;  ///< where the bytes are
  plan_follower* plans_;                  ///< the residency's; nullptr: it follows none
  std::unique_ptr<trace_recorder> recorder_;
  unsigned recipe_depth_ = 0;  ///< inside a recipe: steps are not counted
  std::atomic<bool> cancelled_ = false;
  std::uint64_t next_id_ = 1;
};

}  // namespace halocline::memory
