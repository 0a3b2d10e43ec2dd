// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halocline/memory/plan/planner.hpp"
#include "memory/sim/machine.hpp"
#include "memory/sim/trace_player.hpp"

namespace halocline::memory::sim {

/// Policy `planned`: carries the directives of a plan out while the host runs ahead of the device. A load
/// waits for room, and everything behind it waits too; a released frame is free when the last kernel, or
/// copy, that uses it is done.
class planned_simulation final : public simulation {
 public:
  planned_simulation(const trace& recorded, const device_model& device, const replay_options& options,
                     std::uint64_t budget_bytes, machine& clocks, replay_report& report);

  void exists(std::uint64_t number, const sim_object& object) override;
  void restart() override;
  void allocate(std::uint64_t number, const sim_object& object) override;
  void free(std::uint64_t number, const sim_object& object) override;
  void step(const sim_step& step) override;
  [[nodiscard]] residency_point residency() const override;

 private:
  struct frame {
    std::uint64_t bytes = 0;  ///< 0: none
    std::uint64_t whole_bytes = 0;
    double ready_us = 0;   ///< contents are there
    double unused_us = 0;  ///< the last kernel that uses it is done
    bool is_scratch = false;
  };
  using release = std::pair<double, std::uint64_t>;  ///< when, bytes

  void enlist(std::uint64_t number, const sim_object& object);
  void begin_warm();
  /// @throws corrupt_data for what is in no plan.
  [[nodiscard]] frame& frame_of(const sim_use& use, const sim_step& step);
  void carry_out(const plan::directive& each);
  void regenerate(frame& target, std::uint64_t bytes, bool seed);
  /// Allocates the missing bytes of a frame; returns the time at which they are free.
  double take(frame& target, std::uint64_t frame_bytes);
  /// Frees a frame beyond its first bytes, from a moment on.
  void give_back(frame& from, std::uint64_t kept_bytes, double when);
  [[nodiscard]] double write_back(const frame& source);

  const device_model& device_;
  machine& clocks_;
  replay_report& report_;
  plan::cost_model costs_;
  plan::plan plan_;
  std::size_t next_ = 0;  ///< directive
  std::uint64_t room_;    ///< bytes in no frame and in no release
  double order_us_ = 0;   ///< when `room_` was there: later requests wait behind earlier ones
  std::unordered_map<std::uint64_t, plan::object_index> by_id_;
  std::vector<frame> frames_;                                      ///< by object of the plan
  std::unordered_map<std::uint64_t, plan::object_index> numbers_;  ///< of the trace player
  std::priority_queue<release, std::vector<release>, std::greater<>> releases_;
  std::uint64_t used_ = 0;
  std::uint64_t scratch_ = 0;
};

}  // namespace halocline::memory::sim
