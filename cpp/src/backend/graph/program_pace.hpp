// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace halocline::backend::graph {

/// Whether programs are worth recording: a device that still works on earlier kernels when the next ones are
/// launched does not wait for the host, and gains nothing from graphs, whose making and changing costs the
/// host more than launches do. It is measured in the second run of a program, as the first one makes what
/// later ones find: after every `interval` launches, and at its end, the device is asked whether it is idle.
class program_pace {
 public:
  /// Launches between two questions. The first ones find the device idle in any case.
  static constexpr std::uint32_t interval = 64;
  /// A program is recorded from this share of answers on: a quarter.
  static constexpr std::uint32_t worth_recording = 4;
  /// Runs after which a program is measured again.
  static constexpr std::uint64_t pause = 1000;
  /// Programs that are remembered.
  static constexpr std::size_t most = 4096;

  /// A program begins. Returns whether it is to be recorded; otherwise its launches are told by `launched`.
  [[nodiscard]] bool begin(std::uint64_t key);
  /// A launch of a program that is not recorded. Returns whether `asked` wants an answer.
  [[nodiscard]] bool launched() noexcept { return measured_ != nullptr && ++launches_ % interval == 0; }
  void asked(bool idle) noexcept;
  /// Whether the present program is measured.
  [[nodiscard]] bool measures() const noexcept { return measured_ != nullptr; }
  /// It ends. @param idle whether the device is, if it is measured
  void end(bool idle) noexcept;

 private:
  struct pace {
    std::uint64_t runs = 0;
    bool records = false;
  };

  std::unordered_map<std::uint64_t, pace> known_;
  pace* measured_ = nullptr;  ///< of the present program
  std::uint32_t launches_ = 0, answers_ = 0, idle_ = 0;
};

}  // namespace halocline::backend::graph
