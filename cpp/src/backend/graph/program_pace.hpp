// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>

namespace halocline::backend::graph {

/// Whether programs are worth recording. A device that still works on earlier kernels whenever the next ones
/// are launched gains nothing from graphs, whose making and changing costs the host more than launches do;
/// others may gain. It is found out in the first runs of a program:
///
/// * run 0 makes what later ones find, and is not measured;
/// * runs 1 and 2 are launched as they come and timed. In run 1 the device is asked after every `interval`
///   launches, and at the end, whether it is idle. Where it never is, or there are more launches than graphs
///   are kept for, the program is not recorded;
/// * otherwise runs 3 to 7 are, of which the last two, whose graphs are ready, are timed;
/// * later ones are if the least time of recorded runs is below that of the others.
///
/// After `pause` runs it begins anew.
class program_pace {
 public:
  static constexpr std::uint32_t interval = 16;  ///< launches between two questions
  static constexpr std::uint32_t most_launches = 4096;
  static constexpr std::uint64_t first_recorded = 3, first_ready = 6, decided = 8;  ///< numbers of runs
  static constexpr std::uint64_t pause = 1000;
  static constexpr std::size_t most = 4096;  ///< programs that are remembered

  /// A program begins. Returns whether it is to be recorded; otherwise its launches are told by `launched`.
  [[nodiscard]] bool begin(std::uint64_t key);
  /// A launch of a program that is not recorded. Returns whether `asked` wants an answer.
  [[nodiscard]] bool launched() noexcept { return asks_ && ++launches_ % interval == 0; }
  void asked(bool idle) noexcept { waits_ |= idle; }
  /// Whether the present program wants to be asked at its end, and timed.
  [[nodiscard]] bool asks() const noexcept { return asks_; }
  [[nodiscard]] bool times() const noexcept { return times_; }
  /// It ends. @param idle whether the device is, if it is asked
  void end(bool idle) noexcept;
  /// Nanoseconds of the device between begin and end of the last program that was to be timed.
  void timed(double ns) noexcept;

 private:
  struct pace {
    std::uint64_t runs = 0;
    bool waits = false;    ///< the device was idle when it was asked
    bool records = false;  ///< what was decided
    double plain = std::numeric_limits<double>::infinity(), recorded = plain;  ///< least times
  };

  std::unordered_map<std::uint64_t, pace> known_;
  std::uint64_t key_ = 0, timed_key_ = 0;
  bool asks_ = false, times_ = false, waits_ = false;
  std::uint64_t timed_run_ = 0;
  std::uint32_t launches_ = 0;
};

}  // namespace halocline::backend::graph
