// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "halocline/memory/sim/page_faults.hpp"
#include "memory/sim/machine.hpp"
#include "memory/sim/sim_pool.hpp"
#include "memory/sim/trace_player.hpp"

namespace halocline::memory::sim {

/// Policies that place buffers once: in the pool, or in managed memory.
class placed_simulation final : public simulation {
 public:
  /// @param needed budget that would do, for messages
  placed_simulation(const device_model& device, const replay_options& options, std::uint64_t budget_bytes,
                    std::uint64_t needed, machine& clocks, replay_report& report);

  void exists(std::uint64_t number, const sim_object& object) override;
  void restart() override { ordinal_ = 0; }
  void allocate(std::uint64_t number, const sim_object& object) override;
  void free(std::uint64_t number, const sim_object& object) override;
  void step(const sim_step& step) override;
  [[nodiscard]] residency_point residency() const override;

 private:
  struct placed {
    placement where{};
    std::uint64_t block_bytes = 0;
  };

  void place(std::uint64_t number, const sim_object& object, std::uint64_t ordinal, bool timed);
  void add_to_pool(std::uint64_t number, const sim_object& object, bool timed);
  void add_managed(std::uint64_t number, const sim_object& object, advice hint, bool timed);
  void count(const fault_work& work);
  [[noreturn]] void refuse(const sim_object& object) const;

  const device_model& device_;
  machine& clocks_;
  replay_report& report_;
  policy policy_;
  std::size_t history_length_;
  std::uint64_t needed_;
  policy_state state_;
  sim_pool pool_;
  unified_memory managed_;
  std::unordered_map<std::uint64_t, size_history> histories_;
  std::unordered_map<std::uint64_t, placed> objects_;
  std::vector<managed_range> ranges_;
  std::uint64_t ordinal_ = 0;
};

}  // namespace halocline::memory::sim
