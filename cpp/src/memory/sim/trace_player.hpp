// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "halocline/memory/sim/page_faults.hpp"
#include "halocline/memory/sim/replay.hpp"

namespace halocline::memory::sim {

/// A buffer of the trace. Its number counts allocate and exists rows.
struct sim_object {
  std::uint64_t id = 0;  ///< in the trace
  std::uint64_t bytes = 0;
  object_class cls{};
  recovery comes_back{};
  bool existed = false;  ///< before the recording began
  std::string_view tag;
};

/// What a step does to one buffer.
struct sim_use {
  std::uint64_t object = 0;  ///< number
  bool reads = false;
  bool writes = false;
  bool covers = false;  ///< one row writes all of it

  /// Whether earlier contents are needed.
  [[nodiscard]] bool needs_contents() const noexcept { return reads || !covers; }
};

/// One operation. Views are valid during the call.
struct sim_step {
  std::string_view op;
  std::string_view phase;
  std::uint64_t number = 0;  ///< steps that plans count; meaningless when `plans_skip`
  bool plans_skip = false;   ///< writes tables and nothing else: no step of a plan
  double us = 0;             ///< device time of its kernels
  double launches = 1;
  std::span<const sim_use> uses;
  std::span<const managed_range> ranges;
};

/// Carries a program out: one kind per way of managing memory.
class simulation {
 public:
  virtual ~simulation() = default;
  /// A buffer that was there before; called for all of them before anything else.
  virtual void exists(std::uint64_t number, const sim_object& object) = 0;
  /// The program begins again. The device is idle and its clocks are at 0; buffers that were there before the
  /// program stay where they are.
  virtual void restart() {}
  virtual void allocate(std::uint64_t number, const sim_object& object) = 0;
  virtual void free(std::uint64_t number, const sim_object& object) = 0;
  virtual void step(const sim_step& step) = 0;
  /// Bytes at this moment; the time is filled in by the caller.
  [[nodiscard]] virtual residency_point residency() const = 0;
};

/// Reads a trace and calls a simulation. Checks what it reads.
class trace_player {
 public:
  trace_player(const trace& recorded, const device_model& device, const replay_options& options);

  /// Steps in the trace.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// Calls `to` for everything, and `after(step)` behind each step. A second call plays the program again:
  /// buffers that it left are freed, and those that were there before are not announced again.
  template <typename AfterT>
  void play(simulation& to, AfterT&& after);

 private:
  struct open_object {
    std::uint64_t number;
    sim_object what;
    std::uint64_t turn = 0;   ///< that used it last
    std::size_t use = 0;      ///< its place in `uses_` during that turn
    std::size_t reading = 0;  ///< its last range of either direction during that turn, and 1; 0: none
    std::size_t writing = 0;
  };

  void begin(simulation& to);
  void add(const trace_event& event);
  open_object& find(const trace_event& event);
  void gather(std::size_t& row);
  void gather_row(const trace_event& event);
  void add_range(open_object& touched, const trace_event& event);
  [[nodiscard]] double duration_us(std::size_t first, std::size_t behind, double bytes);
  [[noreturn]] void refuse(const trace_event& event, std::string_view what) const;

  const trace& trace_;
  const device_model& device_;
  const replay_options& options_;
  std::uint64_t steps_ = 0;
  bool began_ = false;
  std::uint64_t kept_ = 0;  ///< steps so far that plans count
  std::uint64_t next_number_ = 0;
  std::unordered_map<std::uint64_t, open_object> live_;
  std::vector<sim_use> uses_;
  std::vector<managed_range> ranges_;
  std::vector<std::size_t>
      earlier_;               ///< per range, the one before it of the same object and direction, and 1
  std::uint64_t turn_ = 0;    ///< calls of `step` so far, of all programs
  std::size_t step_end_ = 0;  ///< first row behind the step whose end was looked for last
  sim_step step_;
};

template <typename AfterT>
void trace_player::play(simulation& to, AfterT&& after) {
  begin(to);
  for (std::size_t row = 0; row < trace_.events.size();) {
    const trace_event& event = trace_.events[row];
    switch (event.action) {
      case trace_action::exists:
        ++row;
        break;
      case trace_action::allocate: {
        add(event);
        const open_object& made = find(event);
        to.allocate(made.number, made.what);
        ++row;
        break;
      }
      case trace_action::free: {
        const open_object gone = find(event);
        live_.erase(event.object);
        to.free(gone.number, gone.what);
        ++row;
        break;
      }
      default:
        gather(row);
        to.step(step_);
        after(step_);
    }
  }
}

}  // namespace halocline::memory::sim
