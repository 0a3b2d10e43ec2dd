// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>

namespace halocline::backend::graph {

/// Whether programs are worth recording. A device that still works on earlier kernels when the next ones are
/// launched gains nothing from graphs, whose making and changing costs the host more than launches do; others
/// may gain. It is found out in the first runs of a program:
///
/// * run 0 makes what later ones find, and is not measured;
/// * runs 1 and 2 are launched as they come and timed, on the host and on the device. Where the host takes
///   less than `late_share` of the device's time in both, it is well ahead, and the program is not recorded;
///   nor is one of more than `most_launches` launches;
/// * otherwise a trial follows: `trial` runs are recorded, of which the last two, whose graphs are ready, are
///   timed, then `again` runs are not, of which the last two are timed: runs 1 and 2 are slower than later
///   ones. It begins with run 3 where the host takes `share` of the device's time or more, else with run
///   `late`: a trial takes as long as a few runs, which programs that run rarely do not gain back;
/// * later ones are recorded where that takes less than `gain` of the device's time without.
///
/// Hosts are slower at some times than at others, and arguments change. So programs that were tried are timed
/// further: when the way in use takes `margin` times what the other one took last, that one is used, and
/// timed from its fourth run on. After `pause` runs all begins anew.
class program_pace {
 public:
  static constexpr double share = 0.8, late_share = 0.4, margin = 1.06, gain = 0.98;
  static constexpr double newest = 0.25;  ///< weight of the last time in a mean
  static constexpr std::uint32_t most_launches = 4096;
  static constexpr std::uint64_t first = 3, late = 16, trial = 5, ready = 3, again = 3;  ///< runs
  static constexpr std::uint32_t settling = 3;  ///< runs after a change that are not timed
  static constexpr std::uint64_t pause = 1000;
  static constexpr std::size_t most = 4096;  ///< programs with an entry

  /// A program begins. Returns whether it is to be recorded; otherwise each launch calls `launched`.
  [[nodiscard]] bool begin(std::uint64_t key);
  void launched() noexcept { ++launches_; }
  /// Whether the present program is to be timed.
  [[nodiscard]] bool times() const noexcept { return times_; }
  /// Nanoseconds of the program that began last, on the host and on the device.
  void timed(double host_ns, double device_ns) noexcept;

 private:
  /// Mean of the times of a way to run a program, in nanoseconds.
  struct mean {
    double ns = std::numeric_limits<double>::infinity();
    void add(double time) noexcept;
  };
  struct pace {
    std::uint64_t runs = 0;
    std::uint64_t tried_from = 0;  ///< the first run of the trial; 0: none
    bool records = false;
    std::uint32_t settles = 0;
    mean plain, recorded;
  };

  std::unordered_map<std::uint64_t, pace> known_;
  // Of the program that began last.
  std::uint64_t key_ = 0, run_ = 0;
  bool times_ = false, records_ = false;
  std::uint32_t launches_ = 0;
};

}  // namespace halocline::backend::graph
