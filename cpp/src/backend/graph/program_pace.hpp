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
/// * runs 1 and 2 are launched as they come and timed. After every `interval` launches of run 1, and at its
///   end, it is checked whether the device is idle. Where it is in less than one of `share` checks, or there
///   are more than `most_launches` launches, the program is not recorded;
/// * otherwise runs 3 to 7 are, of which the last two, whose graphs are ready, are timed;
/// * later ones are if the least time of recorded runs is below that of the others.
///
/// After `pause` runs it begins anew.
class program_pace {
 public:
  static constexpr std::uint32_t interval = 16;  ///< launches between two checks
  static constexpr std::uint32_t share = 2;
  static constexpr std::uint32_t most_launches = 4096;
  static constexpr std::uint64_t first_recorded = 3, first_ready = 6, decided = 8;  ///< numbers of runs
  static constexpr std::uint64_t pause = 1000;
  static constexpr std::size_t most = 4096;  ///< programs with an entry

  /// A program begins. Returns whether it is to be recorded; otherwise each launch calls `launched`.
  [[nodiscard]] bool begin(std::uint64_t key);
  /// A launch of a program that is not recorded. Returns whether a check is due.
  [[nodiscard]] bool launched() noexcept { return checks_ && ++launches_ % interval == 0; }
  /// The result of a check.
  void checked(bool idle) noexcept {
    ++checked_;
    if (idle) ++idle_;
  }
  /// Whether a check is due at the end of the present program, and whether it is to be timed.
  [[nodiscard]] bool checks() const noexcept { return checks_; }
  [[nodiscard]] bool times() const noexcept { return times_; }
  /// It ends. @param idle result of the check at its end, if one is due
  void end(bool idle) noexcept;
  /// Nanoseconds of the device between begin and end of the program that began last.
  void timed(double ns) noexcept;

 private:
  struct pace {
    std::uint64_t runs = 0;
    bool waits = false;                                                        ///< the device was often idle
    double plain = std::numeric_limits<double>::infinity(), recorded = plain;  ///< least times
  };

  std::unordered_map<std::uint64_t, pace> known_;
  // Of the program that began last.
  std::uint64_t key_ = 0, run_ = 0;
  bool checks_ = false, times_ = false;
  std::uint32_t launches_ = 0, checked_ = 0, idle_ = 0;
};

}  // namespace halocline::backend::graph
