// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/plan/chain_model.hpp"
#include "memory/plan/replacement.hpp"
#include "memory/plan/room_tree.hpp"

namespace halocline::memory::plan {

/// What one step needs of one object and has not got: neighbouring segments that begin their stay there.
/// They are loaded, or regenerated, together.
struct arrival {
  object_index target = 0;
  stay_index first = no_stay;  ///< first of its stays
  std::uint32_t begin = 0;     ///< pages from here
  std::uint32_t end = 0;       ///< to here
  step_index need = 0;         ///< step that needs them
  step_index not_before = 0;   ///< end of their last stay
  bool is_unknown = false;     ///< the executor meets the object only at that step
};

/// Arrivals of all stays, in the order of need.
[[nodiscard]] std::vector<arrival> find_arrivals(const program& source, const std::vector<stay>& stays);

/// When each arrival is issued, and the forecast of the run.
struct timetable {
  std::vector<step_index> issue;          ///< per arrival: step before which it is issued
  std::vector<std::uint8_t> regenerates;  ///< per arrival: 1 if its contents are expanded or encoded
  forecast expected;                      ///< times and bytes; not footprint, minimum and lower bound
};

/// What one transfer made the program wait, for the choice of what to regenerate instead.
struct load_delay {
  std::uint32_t load = 0;    ///< number of the arrival
  std::uint32_t period = 0;  ///< number of the uninterrupted busy time of the link that it is part of
  double wait_ns = 0;        ///< how long the step that needs it stands still for it
};

/// Places all transfers on two calendars, one per direction, and simulates the program: loads in the order in
/// which they are needed, each one as early as room, horizon and link allow; write-backs right after the last
/// use.
class scheduler {
 public:
  /// @param held_pages of each object, there when the program begins
  scheduler(const program& source, const liveness& lives, const std::vector<stay>& stays,
            const std::vector<arrival>& arrivals, const planner_options& options,
            std::span<const std::uint32_t> held_pages);

  /// Timetable in which the arrivals with `regenerates` are regenerated. `room` is that of the stays, and is
  /// consumed.
  [[nodiscard]] timetable run(room_tree room, std::vector<std::uint8_t> regenerates);
  /// Delays in the last timetable, in the order of loads.
  [[nodiscard]] const std::vector<load_delay>& delays() const noexcept { return delays_; }
  /// Whether the contents of an arrival can be regenerated instead of being loaded.
  [[nodiscard]] bool can_regenerate(std::uint32_t number) const;
  /// Whether its contents must be regenerated: there is no copy of them.
  [[nodiscard]] bool must_regenerate(std::uint32_t number) const;
  /// Nanoseconds on the link, and on the compute units. Regenerating begins at the first page.
  [[nodiscard]] double load_ns(std::uint32_t number) const;
  [[nodiscard]] double regenerate_ns(std::uint32_t number) const;

 private:
  void begin_writes(step_index s);
  void bring(step_index s);
  void load(std::uint32_t number);
  void begin_links();
  [[nodiscard]] double carry(std::uint32_t number, double begin);
  [[nodiscard]] bool keep(std::uint32_t number);
  [[nodiscard]] step_index choose_issue(const arrival& each, std::size_t from);

  const program& source_;
  const liveness& lives_;
  const std::vector<stay>& stays_;
  const std::vector<arrival>& arrivals_;
  const planner_options& options_;
  std::vector<stay_index> writes_;             ///< in the order of their ends
  std::span<const std::uint32_t> held_pages_;  ///< per object: in the fast tier when the program begins
  room_tree room_{{}};
  timetable result_;
  std::vector<load_delay> delays_;
  // The run on paper.
  std::vector<std::uint8_t> is_kept_;      ///< per arrival: there when the program begins, and stays
  std::vector<std::uint32_t> kept_pages_;  ///< per object: of those, what stays until its first use
  std::vector<double> issue_ns_;           ///< per step: when its directives are carried out
  std::vector<double> room_ready_ns_;      ///< per step: when room that a write-back frees is there at last
  std::vector<double> home_ready_ns_;      ///< per object: end of its last write-back
  std::vector<step_index> object_issue_;   ///< per object: where its last arrival was issued
  std::vector<step_index> used_before_;    ///< per object: 1 + the last step that used it; with resizing
  std::uint32_t next_arrival_ = 0;
  std::size_t next_write_ = 0;
  std::vector<step_index> latest_issue_;  ///< per link
  std::vector<double> link_free_ns_;      ///< per link: end of what it carries so far
  std::vector<std::size_t> link_of_;      ///< per arrival that was loaded
  std::optional<chain_model> chain_;
  std::size_t link_ = 0;  ///< that the load at hand uses
  step_index horizon_ = 0;
  std::uint32_t period_ = 0;
  double clock_ns_ = 0, ready_ns_ = 0, write_free_ns_ = 0;
};

/// Marks arrivals that are better regenerated than loaded, judging by the delays of a timetable: regeneration
/// takes time of the compute units but reduces the load on the link. Returns whether any was added.
[[nodiscard]] bool choose_regenerations(const scheduler& schedule, std::vector<std::uint8_t>& regenerates);

}  // namespace halocline::memory::plan
