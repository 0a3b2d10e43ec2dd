// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "halocline/core/clock.hpp"
#include "memory/pager/cost_meter.hpp"

namespace halocline::memory {

/// Measures how long steps take, for a cost meter: by the host's clock, where operations are done when they
/// return.
class step_clock {
 public:
  virtual ~step_clock() = default;
  /// Whether an operation should be measured (again).
  [[nodiscard]] virtual bool wants(cost_meter& meter, std::string_view op) {
    (void)meter, (void)op;
    return true;
  }
  /// The moment at which a step begins; 0: it is not measured.
  [[nodiscard]] virtual std::uint64_t begin(const cost_meter& meter, std::size_t op) {
    (void)meter, (void)op;
    return now_ns();
  }
  /// The step that began then has ended, or was queued.
  virtual void end(cost_meter& meter, std::size_t op, std::size_t bytes, std::uint64_t begin) noexcept {
    meter.add(op, static_cast<double>(bytes), static_cast<double>(now_ns() - begin));
  }
  /// Hands over everything that has begun.
  virtual void finish(cost_meter& meter) { (void)meter; }
  /// Sees to it that the host does not fall behind what it measures in the next milliseconds.
  virtual void calibrate() {}
};

}  // namespace halocline::memory
