// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "halocline/memory/device_memory.hpp"

namespace halocline::memory {

/// Adds up how long pieces of work on one lane take, without waiting for them.
class lane_clock {
 public:
  lane_clock(std::shared_ptr<device_memory> device, lane of) : device_(std::move(device)), lane_(of) {}

  /// Runs `work()`, which queues work on the lane, between two stamps.
  template <typename WorkT>
  void measure(const WorkT& work) {
    const stamp begin = device_->take_time(lane_);
    work();
    if (begin == 0) return;
    pending_.emplace_back(begin, device_->take_time(lane_));
    if (pending_.size() >= most_pending) collect();
  }
  /// Nanoseconds of what has ended so far.
  [[nodiscard]] std::uint64_t total_ns() {
    collect();
    return total_ns_;
  }

 private:
  static constexpr std::size_t most_pending = 64;

  void collect() {
    while (!pending_.empty()) {
      const std::optional<std::uint64_t> spent =
          device_->nanoseconds(pending_.front().first, pending_.front().second);
      if (!spent) return;
      total_ns_ += *spent;
      pending_.pop_front();
    }
  }

  std::shared_ptr<device_memory> device_;
  lane lane_;
  std::deque<std::pair<stamp, stamp>> pending_;
  std::uint64_t total_ns_ = 0;
};

}  // namespace halocline::memory
