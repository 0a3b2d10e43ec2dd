// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>

#include "halocline/memory/device_memory.hpp"
#include "memory/pager/step_clock.hpp"

namespace halocline::memory {

/// Measures steps on the compute lane for a cost meter, without waiting for them. Each operation a limited
/// number of times, because a stamp costs about as much as a launch.
class step_timer final : public step_clock {
 public:
  explicit step_timer(std::shared_ptr<device_memory> device) : device_(std::move(device)) {}

  [[nodiscard]] bool wants(cost_meter& meter, std::string_view op) override {
    return is_open(meter, meter.number_of(op));
  }
  [[nodiscard]] stamp begin(const cost_meter& meter, std::size_t op) override {
    return is_open(meter, op) ? device_->take_time(lane::compute) : 0;
  }
  void end(cost_meter& meter, std::size_t op, std::size_t bytes, stamp begin) noexcept override {
    if (begin == 0) return;
    try {
      const stamp end = device_->take_time(lane::compute);
      pending_.push_back({op, bytes, begin, end});
      if (pending_.size() >= most_pending) collect(meter);
    } catch (const std::exception&) {  // a step that is not measured
    }
  }
  /// Blocks until the compute lane has come to the last step.
  void finish(cost_meter& meter) override {
    device_->wait(lane::compute, device_->mark(lane::compute));
    collect(meter);
  }
  /// Without gaps: the lane is kept busy while the host queues the operations.
  void calibrate() override { device_->occupy(calibration_ns); }

 private:
  /// Longer than the host takes to queue the operations of a calibration.
  static constexpr std::uint64_t calibration_ns = 5'000'000;
  static constexpr double most_samples = 64;
  static constexpr std::size_t most_pending = 64;
  struct step {
    std::size_t op;
    std::size_t bytes;
    stamp begin;
    stamp end;
  };

  [[nodiscard]] static bool is_open(const cost_meter& meter, std::size_t op) noexcept {
    return meter.samples(op) < most_samples;
  }
  /// Passes the steps that have ended to the meter.
  void collect(cost_meter& meter) {
    while (!pending_.empty()) {
      const step& first = pending_.front();
      const std::optional<std::uint64_t> spent = device_->nanoseconds(first.begin, first.end);
      if (!spent) return;
      meter.add(first.op, static_cast<double>(first.bytes), static_cast<double>(*spent));
      pending_.pop_front();
    }
  }

  std::shared_ptr<device_memory> device_;
  std::deque<step> pending_;
};

}  // namespace halocline::memory
