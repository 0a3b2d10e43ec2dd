// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "memory/sim/machine.hpp"
#include "memory/sim/trace_player.hpp"

namespace halocline::memory::sim {

/// Policy `lru`: whole objects, copied when a step needs them while host and device wait; the least recently
/// used frame is evicted first. Contents that the program made are written back before; others are dropped.
class lru_simulation final : public simulation {
 public:
  /// `recorded` is read when something is refused, to say what the whole program needs.
  lru_simulation(const trace& recorded, const device_model& device, const replay_options& options,
                 std::uint64_t budget_bytes, machine& clocks, replay_report& report);

  void exists(std::uint64_t number, const sim_object& object) override;
  void allocate(std::uint64_t number, const sim_object& object) override;
  void free(std::uint64_t number, const sim_object& object) override;
  void step(const sim_step& step) override;
  [[nodiscard]] residency_point residency() const override;

 private:
  struct held {
    std::uint64_t bytes = 0;  ///< whole pages
    bool pooled = false;
    bool has_frame = false;
    bool has_contents = false;
    bool dirty = false;           ///< the contents are nowhere else
    std::uint64_t last_step = 0;  ///< that uses it
    std::list<std::uint64_t>::iterator turn;
  };

  void place(std::uint64_t number, const sim_object& object, bool timed);
  void make_room(std::uint64_t bytes, const sim_step* step);
  void evict(std::uint64_t number);
  void bring_in(const sim_use& use);
  /// Waits for the device and for copies that are under way.
  void block_until(double us);
  [[noreturn]] void refuse(std::string_view what, std::uint64_t bytes) const;

  const trace& recorded_;
  const device_model& device_;
  machine& clocks_;
  replay_report& report_;
  policy policy_;
  std::uint64_t budget_;
  std::uint64_t steps_ = 0;  ///< so far
  std::uint64_t used_ = 0;   ///< frames and pool
  std::uint64_t pooled_ = 0;
  std::unordered_map<std::uint64_t, held> objects_;
  std::list<std::uint64_t> turns_;  ///< objects with a frame, least recently used first
};

}  // namespace halocline::memory::sim
