// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "memory/plan/replacement.hpp"
#include "memory/plan/room_tree.hpp"

namespace halocline::memory::plan {

/// When each stay begins to be loaded, and what the run looks like then.
struct timetable {
  std::vector<step_index> issue;  ///< per stay that loads: step before which its transfer is asked for
  std::vector<std::uint8_t> regenerates;  ///< per stay: 1 if its contents are expanded or encoded
  forecast expected;                      ///< times and bytes; not footprint, minimum and lower bound
};

/// What one transfer made the program wait, for the choice of what to regenerate instead.
struct load_delay {
  stay_index load = no_stay;
  std::uint32_t period = 0;  ///< number of the uninterrupted busy time of the link that it is part of
  double wait_ns = 0;        ///< how long the step that needs it stands still for it
};

/// Places all transfers on two calendars, one per direction, and carries the program out on paper: loads in
/// the order in which they are needed, each one as early as room, horizon and link allow; write-backs right
/// after the last use.
class scheduler {
 public:
  scheduler(const program& source, const liveness& lives, const std::vector<stay>& stays,
            const planner_options& options);

  /// Timetable in which the stays with `regenerates` are regenerated. `room` is that of the stays, and is
  /// consumed.
  [[nodiscard]] timetable run(room_tree room, std::vector<std::uint8_t> regenerates);
  /// Delays in the last timetable, in the order of loads.
  [[nodiscard]] const std::vector<load_delay>& delays() const noexcept { return delays_; }
  /// Whether the contents of a stay can be regenerated instead of being loaded.
  [[nodiscard]] bool can_regenerate(const stay& each) const;
  /// Nanoseconds on the link, and on the compute units.
  [[nodiscard]] double load_ns(const stay& each) const;
  [[nodiscard]] double regenerate_ns(const stay& each) const;

 private:
  void begin_writes(step_index s);
  void bring(step_index s);
  void load(stay_index i);
  [[nodiscard]] step_index choose_issue(const stay& each);
  [[nodiscard]] bool is_unknown_before(const stay& each) const;

  const program& source_;
  const liveness& lives_;
  const std::vector<stay>& stays_;
  const planner_options& options_;
  std::vector<stay_index> loads_;   ///< in the order of need
  std::vector<stay_index> writes_;  ///< in the order of their ends
  room_tree room_{{}};
  timetable result_;
  std::vector<load_delay> delays_;
  // The run on paper.
  std::vector<double> issue_ns_;       ///< per step: when its directives are carried out
  std::vector<double> room_ready_ns_;  ///< per step: when room that a write-back frees is there at last
  std::vector<double> home_ready_ns_;  ///< per object: end of its last write-back
  std::size_t next_load_ = 0, next_write_ = 0;
  step_index latest_issue_ = 0, horizon_ = 0;
  std::uint32_t period_ = 0;
  double clock_ns_ = 0, ready_ns_ = 0, read_free_ns_ = 0, write_free_ns_ = 0;
};

/// Marks stays that are better regenerated than loaded, judging by the delays of a timetable: regenerating
/// takes time of the compute units but relieves the link. Returns whether any was added.
[[nodiscard]] bool choose_regenerations(const scheduler& schedule, const std::vector<stay>& stays,
                                        std::vector<std::uint8_t>& regenerates);

}  // namespace halocline::memory::plan
