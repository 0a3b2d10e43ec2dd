// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "halocline/memory/sim/replay.hpp"
#include "memory/sim/span_recorder.hpp"

namespace halocline::memory::sim {

inline constexpr double us_per_s = 1e6;

/// A kernel, or all kernels of one operation.
struct kernel {
  double launches = 1;
  double us = 0;        ///< device time
  double fault_us = 0;  ///< device standing still for page faults
  double ready_us = 0;  ///< earliest begin: operands and room
  std::string_view name = "kernel";
};

/// Clocks of a simulated device: one host thread, one stream, one link per direction. Times are microseconds
/// since the begin.
class machine {
 public:
  /// @param spans where to write down what happens; may be nullptr
  machine(const device_model& device, replay_report& report, timeline* spans = nullptr);

  /// Waits until everything is done and sets the clocks to 0; from now on `spans` gets what happens.
  void restart(timeline* spans);

  /// The host works.
  void host_work(double us) noexcept { host_ += us; }
  /// The host waits until the device is idle.
  void synchronize() noexcept;
  /// The host waits until a moment, e.g. the end of a copy.
  void wait_until(double us) noexcept;
  /// Enqueues kernels behind those that are there.
  void run(const kernel& work);
  /// The device cannot begin before a moment.
  void hold_device(double until_us) noexcept;
  /// Copies over a link, not before `earliest`; returns the end.
  [[nodiscard]] double load(std::uint64_t bytes, double earliest);
  [[nodiscard]] double store(std::uint64_t bytes, double earliest);

  /// What was written down so far, to add to.
  [[nodiscard]] span_recorder& spans() noexcept { return spans_; }

  [[nodiscard]] double host_us() const noexcept { return host_; }
  [[nodiscard]] double device_us() const noexcept { return device_; }
  [[nodiscard]] double now_us() const noexcept { return host_ > device_ ? host_ : device_; }

 private:
  struct link {
    double rate;
    double busy_until = 0;
  };
  double transfer(link& used, const link& other, std::uint64_t bytes, double earliest, double& busy_s) const;

  const device_model& model_;
  replay_report& report_;
  span_recorder spans_;
  double host_ = 0;
  double device_ = 0;
  link load_;
  link store_;
  std::vector<double> queue_;  ///< ends of the last launches: the host waits for the oldest one
  std::size_t next_ = 0;
};

}  // namespace halocline::memory::sim
