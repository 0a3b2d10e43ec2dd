// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backend/sycl/runtime/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::sycl {

/// Order and times of the three queues of a device: tickets are events. Thread-safe, because engines that
/// share a budget request memory from each other. As in `memory::device_memory`.
class lane_order {
 public:
  explicit lane_order(std::shared_ptr<device_context> device) : device_(std::move(device)) {}

  [[nodiscard]] memory::ticket mark(memory::lane of);
  [[nodiscard]] bool passed(memory::lane of, memory::ticket moment);
  void order(memory::lane waiting, memory::lane of, memory::ticket moment);
  void wait(memory::lane of, memory::ticket moment);
  [[nodiscard]] memory::stamp take_time(memory::lane of);
  [[nodiscard]] std::optional<std::uint64_t> nanoseconds(memory::stamp begin, memory::stamp end);

 private:
  using event = std::unique_ptr<sycl_bridge::event>;
  struct line {
    memory::ticket next = 1;
    memory::ticket done = 0;
    std::deque<std::pair<memory::ticket, event>> pending;
  };

  /// The end of a queue at this moment.
  [[nodiscard]] event end_of(memory::lane of);
  /// Releases events that have happened.
  static void collect(line& of);
  /// The first event at or behind a ticket that has not been released; nullptr: the lane is past it.
  [[nodiscard]] static sycl_bridge::event* event_of(const line& of, memory::ticket moment);
  line& of_lane(memory::lane of) noexcept { return lines_[static_cast<std::size_t>(of)]; }

  std::shared_ptr<device_context> device_;
  std::mutex mutex_;
  std::array<line, memory::lane_count> lines_;
  std::unordered_map<memory::stamp, event> stamps_;
  memory::stamp next_stamp_ = 1;
};

}  // namespace halocline::backend::sycl
