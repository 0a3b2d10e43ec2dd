// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "halocline/memory/device_memory.hpp"

namespace halocline::memory {

/// Adds up how long pieces of work on one lane take, without waiting for them. Stamps cost as much as
/// launches, so after the first pieces only some are timed, and stand for the others.
class lane_clock {
 public:
  /// @param every after the first 256 pieces one of so many is timed; 1: all are
  lane_clock(std::shared_ptr<device_memory> device, lane of, std::size_t every)
      : device_(std::move(device)), lane_(of), every_(every) {}

  /// Runs `work()`, which queues a piece of work on the lane.
  /// @param weight what the time of a piece is proportional to: bytes
  /// What ends with an exception does not count.
  template <typename WorkT>
  void measure(std::size_t weight, const WorkT& work) {
    const bool timed = pieces_ < most_exact || pieces_ % every_ == 0;
    ++pieces_;
    weight_ += static_cast<double>(weight);
    const stamp begin = timed ? device_->take_time(lane_) : 0;
    try {
      work();
    } catch (...) {
      weight_ -= static_cast<double>(weight);
      if (begin != 0) pending_.push_back({begin, 0, 0});  // released when the lane has reached it
      throw;
    }
    if (begin == 0) return;
    pending_.push_back({begin, device_->take_time(lane_), weight});
    if (pending_.size() >= most_pending) collect();
  }
  /// Nanoseconds of what has ended so far.
  [[nodiscard]] std::uint64_t total_ns() {
    collect();
    double waiting = 0;
    for (const piece& each : pending_) waiting += static_cast<double>(each.weight);
    return timed_weight_ == 0 ? 0
                              : static_cast<std::uint64_t>(timed_ns_ / timed_weight_ * (weight_ - waiting));
  }

 private:
  static constexpr std::size_t most_pending = 64;
  static constexpr std::size_t most_exact = 256;
  struct piece {
    stamp begin;
    stamp end;
    std::size_t weight;
  };

  void collect() {
    while (!pending_.empty()) {
      const piece& first = pending_.front();
      const std::optional<std::uint64_t> spent = device_->nanoseconds(first.begin, first.end);
      if (!spent) return;
      timed_ns_ += static_cast<double>(*spent);
      timed_weight_ += static_cast<double>(first.weight);
      pending_.pop_front();
    }
  }

  std::shared_ptr<device_memory> device_;
  lane lane_;
  std::size_t every_;
  std::size_t pieces_ = 0;
  std::deque<piece> pending_;
  double weight_ = 0;  ///< of all pieces
  double timed_weight_ = 0;
  double timed_ns_ = 0;
};

}  // namespace halocline::memory
