// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halocline/memory/tier/link_speed.hpp"
#include "memory/pager/cost_meter.hpp"
#include "memory/pager/pager.hpp"
#include "memory/pager/plan_executor.hpp"
#include "memory/pager/step_clock.hpp"
#include "memory/residency/plan_follower.hpp"
#include "memory/residency/residency.hpp"

namespace halocline::memory {

/// Frames that buffers get when a step touches them and lose when others need the room: explicit copies by a
/// pager, in the order of a policy or of a plan. In host memory or on an accelerator: the transport and the
/// clock know which.
class paged_residency final : public residency, private plan_follower {
 public:
  paged_residency(const residency_parts& parts, std::unique_ptr<transport> copies,
                  std::unique_ptr<step_clock> clock);

  [[nodiscard]] std::size_t budget_left(std::size_t live_bytes) const noexcept override;
  [[nodiscard]] placing place(buffer_state& state) override;
  void free(buffer_state& state) noexcept override;
  void forsake(buffer_state& state) noexcept override;
  [[nodiscard]] std::size_t held_bytes(const buffer_state& state) const noexcept override;

  [[nodiscard]] bool is_timed(std::string_view op) override;
  [[nodiscard]] placing bring(std::span<const step_use> uses, std::string_view op, std::size_t touched,
                              std::unique_ptr<pinned_step>& pinned) override;
  void unpin(pinned_step& step) noexcept override;

  void set_budget(std::size_t bytes) override;
  void trim() noexcept override { pager_.trim(); }
  [[nodiscard]] const budget_member* member() const noexcept override { return &pager_; }

  [[nodiscard]] bool reads_remote() noexcept override;
  void set_remote(buffer_state& state, std::shared_ptr<const remote_contents> contents) override {
    pager_.adopt(state, std::move(contents));
  }
  void leave_to_recipe(buffer_state& state) override { pager_.leave_to_recipe(state); }

  [[nodiscard]] fetched fetch(buffer_state& state) override;
  void set_spare(buffer_state& state, bool spare) override;
  void leave_fast(buffer_state& state, bool copies) override { pager_.leave_fast(state, copies); }

  void report(stats& counters) override;
  [[nodiscard]] store_stats slow_statistics() override;
  [[nodiscard]] std::vector<link_stats> link_statistics() override;
  void reset_peak() noexcept override { pager_.reset_peak(); }
  [[nodiscard]] bool moves() const noexcept override { return true; }
  [[nodiscard]] bool resizes() const noexcept override { return !pager_.held().moves_together(); }
  [[nodiscard]] const char* why_it_stays() const noexcept override;
  void describe_chain(plan::planner_options& options) override;
  [[nodiscard]] plan::cost_model measured_costs(const plan::cost_model& base) override;
  void forget_costs() override;
  [[nodiscard]] plan_follower* plans() noexcept override;

 private:
  // plan_follower
  [[nodiscard]] bool is_following() const noexcept override { return executor_ != nullptr; }
  void begin(std::shared_ptr<const plan::plan> source) override;
  plan_outcome end() override;
  void allocated(buffer_state& state) override;
  void next_step(std::span<const step_use> uses, std::string_view op) override;

  void give_up_plan(std::string reason);
  [[nodiscard]] plan::linear_cost cost_of(const link_stats& link, const plan::cost_model& costs) const;

  residency_parts parts_;
  cost_meter meter_;
  std::unique_ptr<step_clock> clock_;
  pager pager_;
  std::unique_ptr<plan_executor> executor_;
  std::optional<link_speed> link_;  ///< of the slow tier, once it was measured
  plan_outcome outcome_;
  std::size_t ahead_steps_ = 0;  ///< since there is something to bring ahead
};

}  // namespace halocline::memory
