// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/plan/cost_model.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/stats.hpp"
#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

struct buffer_state;
struct step_use;
class plan_follower;

/// Why a forked child cannot use a strategy (`residency::why_it_stays`).
inline constexpr const char* stays_with_slow_tier =
    "its bytes move to a slow tier that belongs to the parent";
inline constexpr const char* stays_with_driver = "a GPU and its driver do not survive a fork";

/// How an attempt to place a buffer, or to bring the operands of a step, ended.
enum class placing : unsigned char {
  done,
  no_room,            ///< others hold too much of the budget: another attempt may succeed
  over_budget,        ///< another attempt does not help
  refused_by_system,  ///< the operating system or the driver has no more
};

/// What an `access` holds where steps pin buffers. The backends keep the buffers' handles alive while it
/// lives.
struct pinned_step {
  std::vector<buffer_state*> states;
  std::size_t op = 0;             ///< number in the cost meter
  std::size_t touched_bytes = 0;  ///< 0: not measured
  bool is_ready = false;          ///< everything was there, and pointers may be in use
  std::uint64_t begin = 0;        ///< by the step clock; 0: not measured
};

/// What strategies share with their runtime, which outlives them and calls them under its mutex.
struct residency_parts {
  const runtime_options& options;
  policy_traits traits;
  std::shared_ptr<memory_budget> budget;
  const std::vector<buffer_state*>& live;  ///< all live buffers
  movement& moved;                         ///< counters to add to
  std::recursive_mutex& mutex;             ///< the runtime's
};

/// A strategy of residency: where the bytes of a runtime's buffers are, and how a step gets at them. The
/// runtime checks, counts, records and asks the policy; it does not know which strategy it has.
class residency {
 public:
  residency() = default;
  virtual ~residency() = default;
  residency(const residency&) = delete;
  residency& operator=(const residency&) = delete;

  // Buffers.
  /// Bytes of the budget that a policy may count on; 0: unlimited.
  /// @param live_bytes of all buffers of the runtime
  [[nodiscard]] virtual std::size_t budget_left(std::size_t live_bytes) const noexcept = 0;
  /// Gives a new buffer its bytes, or makes sure that a step can. Unless it ends with `done`, nothing has
  /// changed.
  [[nodiscard]] virtual placing place(buffer_state& state) = 0;
  /// Takes the bytes back; zeroes them first where the buffer asks for that.
  virtual void free(buffer_state& state) noexcept = 0;
  /// In a forked child, which must leave the bytes alone: wipes this process's copy of a secret, no more.
  virtual void forsake(buffer_state& state) noexcept = 0;
  /// Bytes of the fast tier that a buffer holds.
  [[nodiscard]] virtual std::size_t held_bytes(const buffer_state& state) const noexcept;

  // Steps.
  /// Whether a step of this operation is to be timed, so that the bytes that it touches are counted.
  [[nodiscard]] virtual bool is_timed(std::string_view op);
  /// Makes the operands of a step resident and, where that matters, pins them until `unpin`.
  /// @param touched bytes, for the measurement; 0: not measured
  /// @param pinned is made before the first operand is pinned, so that it can be undone after an error
  /// @throws io_error, corrupt_data as `runtime::acquire`
  [[nodiscard]] virtual placing bring(std::span<const step_use> uses, std::string_view op,
                                      std::size_t touched, std::unique_ptr<pinned_step>& pinned) = 0;
  virtual void unpin(pinned_step& step) noexcept;

  // Budget.
  /// Makes room until the budget can become `bytes` (0: unlimited), as far as that is possible.
  /// @throws out_of_memory when what is in use does not fit
  virtual void set_budget(std::size_t bytes);
  /// Gives cached bytes back to the operating system or driver.
  virtual void trim() noexcept = 0;
  /// What other runtimes of the same budget may ask for bytes; nullptr: nothing.
  [[nodiscard]] virtual const budget_member* member() const noexcept;

  // Contents that are elsewhere.
  /// Whether `set_remote` and `leave_to_recipe` work.
  [[nodiscard]] virtual bool reads_remote() noexcept;
  /// As `runtime::set_remote` and `runtime::leave_to_recipe`, for a buffer without contents.
  virtual void set_remote(buffer_state& state, std::shared_ptr<const remote_contents> contents);
  virtual void leave_to_recipe(buffer_state& state);

  /// As `runtime::fetch`, `runtime::set_spare` and `runtime::leave_fast`.
  [[nodiscard]] virtual fetched fetch(buffer_state& state);
  virtual void set_spare(buffer_state& state, bool spare);
  virtual void leave_fast(buffer_state& state, bool copies);

  // What is known of it.
  /// Fills in what the runtime does not count itself: bytes of the fast tier, movement.
  virtual void report(stats& counters) = 0;
  [[nodiscard]] virtual store_stats slow_statistics();
  [[nodiscard]] virtual std::vector<link_stats> link_statistics();
  virtual void reset_peak() noexcept;
  /// Whether buffers can lose their frames.
  [[nodiscard]] virtual bool moves() const noexcept;
  /// Whether a frame can become larger where it is (`plan::planner_options::allow_resize`).
  [[nodiscard]] virtual bool resizes() const noexcept;
  /// Why a forked child cannot use it, a part of a sentence; nullptr: it can.
  [[nodiscard]] virtual const char* why_it_stays() const noexcept;
  /// Adds links and what lies behind them, where there is a chain of tiers.
  virtual void describe_chain(plan::planner_options& options);
  /// Puts what was measured in the place of `base`.
  [[nodiscard]] virtual plan::cost_model measured_costs(const plan::cost_model& base);
  /// Begins to measure anew.
  virtual void forget_costs();
  /// What follows plans; nullptr where nothing does.
  [[nodiscard]] virtual plan_follower* plans() noexcept;
};

/// The strategy for a policy and a place: the only function that chooses.
/// @throws io_error when the slow tier cannot be made
[[nodiscard]] std::unique_ptr<residency> make_residency(const residency_parts& parts);

/// Costs before anything was measured.
[[nodiscard]] plan::cost_model default_costs(const runtime_options& options);

}  // namespace halocline::memory
